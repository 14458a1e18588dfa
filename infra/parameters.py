#!/usr/bin/env python3
"""Prints the template's parameters that the environment sets, as JSON. `sam deploy` reads them from a file.

A variable that is not set leaves its parameter as it was deployed before. An empty one gives it the template's default. Of how tokens are
checked all is said or nothing: with keys of one kind, those of the others are taken away.
"""

import json
import os
import pathlib
import re

TEMPLATE = pathlib.Path(__file__).parent / "template.yaml"
KEYS = ("JwtSecret", "Jwks", "OauthKeys")
OF_TOKENS = (*KEYS, "JwtIssuer", "JwtAudience", "AuthorizationServers")

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



def defaults():
    """The defaults of the template's parameters."""
    parameters = TEMPLATE.read_text().split("\nParameters:\n")[1].split("\nRules:\n")[0]
    found = re.findall(r"^  (\w+):\n(?:    .*\n)*?    Default: (.*)$", parameters, re.M)
    return {name: value.strip('"') for name, value in found}


def main():
    said = {name: os.environ[variable] for name, variable in VARIABLES.items() if variable in os.environ}
    if any(said.get(name) for name in KEYS):
        said = dict.fromkeys(OF_TOKENS, "") | said
    usual = defaults()
    print(json.dumps({name: value or usual[name] for name, value in said.items()}, indent=2))


if __name__ == "__main__":
    main()
