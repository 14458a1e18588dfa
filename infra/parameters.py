#!/usr/bin/env python3
"""Prints the template's parameters that the environment sets, as JSON. `sam deploy` reads them from a file.

A variable that is not set leaves its parameter as it was deployed before. An empty one takes the value away.
"""

import json
import os

VARIABLES = {
    "Architecture": "ARCH",
    "VaultId": "ATLAS_VAULT",
    "JwtSecret": "ATLAS_JWT_SECRET",
    "OauthKeys": "OAUTH_KEYS",
    "UpstreamSecret": "ATLAS_UPSTREAM_SECRET",
    "ObsidianSecret": "ATLAS_OBSIDIAN_SECRET",
    "EmbeddingsToken": "ATLAS_EMBEDDINGS_TOKEN",
    "PlurToken": "ATLAS_PLUR_TOKEN",
    "GatewayToken": "ATLAS_GATEWAY_TOKEN",
    "Jwks": "ATLAS_JWKS",
    "JwtIssuer": "ATLAS_JWT_ISSUER",
    "JwtAudience": "ATLAS_JWT_AUDIENCE",
    "Resource": "ATLAS_RESOURCE",
    "AuthorizationServers": "ATLAS_AUTHORIZATION_SERVERS",
    "ConfigKey": "CONFIG_KEY",
    "VaultDocuments": "VAULT_DOCUMENTS",
    "LogFilter": "LOG_FILTER",
    "LogRetentionDays": "LOG_RETENTION_DAYS",
    "NoncurrentDays": "NONCURRENT_DAYS",
    "SearchNotes": "SEARCH_NOTES",
    "SearchMemory": "SEARCH_MEMORY",
    "ConcurrentExecutions": "CONCURRENT",
    "Builders": "BUILDERS",
    "SourceBucket": "SOURCE_BUCKET",
    "SourceFolder": "SOURCE_FOLDER",
    "BuilderMemory": "BUILDER_MEMORY",
    "BuilderConcurrency": "BUILDER_CONCURRENCY",
    "RequestsPerSecond": "REQUESTS_PER_SECOND",
}

if __name__ == "__main__":
    print(json.dumps({name: os.environ[variable] for name, variable in VARIABLES.items() if variable in os.environ}, indent=2))
