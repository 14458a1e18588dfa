#!/usr/bin/env bash
# Deploys what `make package` built:
#
#   infra/deploy.sh aws   FUNCTION…   with SAM, into the account that the AWS credentials name
#   infra/deploy.sh local FUNCTION…   into the Lambda service of LocalStack, which runs in Docker
#
# STACK (default `atlas`) names the stack, ARCH (default `x86_64`) is the one that was packaged, and CONFIG_KEY the key of the
# configuration document in the bucket, if there is one. SEARCH=contextual deploys the `search` that runs embedding models with a
# network, with SEARCH_MEMORY megabytes (default 1769, which is one processor). BUILDERS=true adds what builds vaults from plain objects and
# compacts them, from SOURCE_BUCKET (default: the bucket of the mirror) and SOURCE_FOLDER (default `sources`).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() { echo "infra/deploy.sh: $*" >&2; exit 1; }

where=${1:?aws or local}
shift
arch=${ARCH:-x86_64}
export PATH=$PWD/target/tools/infra/bin:$PWD/target/tools/tools/bin:$PATH
export SAM_CLI_TELEMETRY=0

for function in "$@"; do
  [ -f "target/lambda/$function/bootstrap.zip" ] ||
    fail "target/lambda/$function/bootstrap.zip is missing; run: make package ARCH=$arch"
done

template=infra/template.yaml
search_memory=512
case ${SEARCH:-} in
"") ;;
contextual)
  [ -f target/lambda/contextual/search/bootstrap.zip ] ||
    fail "target/lambda/contextual/search/bootstrap.zip is missing; run: make package ARCH=$arch"
  [ "$where" = aws ] || fail "SEARCH=contextual is for aws"
  # SAM takes no parameter as the place of a package. Both files are one folder deep, so the places stay as they are.
  template=target/template.yaml
  sed 's#/lambda/search/#/lambda/contextual/search/#' infra/template.yaml >"$template"
  search_memory=${SEARCH_MEMORY:-1769}
  ;;
*) fail "unknown SEARCH '$SEARCH'; say contextual, or nothing" ;;
esac

# Where the deployment gives tokens itself, its own keys are those that tokens are checked against.
if [ -n "${ATLAS_OAUTH_KEYS_FILE:-}" ]; then
  [ -n "${ATLAS_RESOURCE:-}" ] || fail "set ATLAS_RESOURCE to the address that clients use, such as https://notes.example.org"
  command -v atlas >/dev/null || fail "atlas is missing; run: make install"
  ATLAS_JWKS=${ATLAS_JWKS:-$(atlas auth keys)}
  ATLAS_AUTHORIZATION_SERVERS=${ATLAS_AUTHORIZATION_SERVERS:-$ATLAS_RESOURCE}
  oauth_keys=$(cat "$ATLAS_OAUTH_KEYS_FILE")
fi

case $where in
aws)
  command -v sam >/dev/null || fail "the SAM command line is missing; run: make setup-infra"
  [ -n "${AWS_ACCESS_KEY_ID:-}${AWS_PROFILE:-}${AWS_WEB_IDENTITY_TOKEN_FILE:-}${AWS_CONTAINER_CREDENTIALS_FULL_URI:-}" ] ||
    [ -f "${AWS_SHARED_CREDENTIALS_FILE:-$HOME/.aws/credentials}" ] ||
    [ -f "${AWS_CONFIG_FILE:-$HOME/.aws/config}" ] ||
    fail "no AWS credentials: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
  sam deploy --template-file "$template" --stack-name "${STACK:-atlas}" \
    --capabilities CAPABILITY_IAM --resolve-s3 --no-fail-on-empty-changeset \
    --parameter-overrides "Architecture=$arch" "JwtSecret=${ATLAS_JWT_SECRET:-}" "Jwks=${ATLAS_JWKS:-}" \
    "OauthKeys=${oauth_keys:-}" "UpstreamSecret=${ATLAS_UPSTREAM_SECRET:-}" "ObsidianSecret=${ATLAS_OBSIDIAN_SECRET:-}" \
    "EmbeddingsToken=${ATLAS_EMBEDDINGS_TOKEN:-}" \
    "JwtIssuer=${ATLAS_JWT_ISSUER:-}" "JwtAudience=${ATLAS_JWT_AUDIENCE:-}" \
    "Resource=${ATLAS_RESOURCE:-}" \
    "AuthorizationServers=${ATLAS_AUTHORIZATION_SERVERS:-}" "ConfigKey=${CONFIG_KEY:-}" "VaultDocuments=${VAULT_DOCUMENTS:-config/vaults}" \
    "ConcurrentExecutions=${CONCURRENT:-0}" \
    "SearchMemory=$search_memory" \
    "Builders=${BUILDERS:-false}" "SourceBucket=${SOURCE_BUCKET:-}" "SourceFolder=${SOURCE_FOLDER:-sources}"
  ;;
local)
  : "${ATLAS_JWT_SECRET:?a secret of 32 bytes or more, that tokens are signed with}"
  docker info >/dev/null 2>&1 || fail "Docker is not running; LocalStack needs it to run functions"
  docker compose version >/dev/null 2>&1 || fail "Docker's compose plugin is missing"
  command -v cargo-lambda >/dev/null || fail "cargo-lambda is missing; run: make setup-tools"
  docker compose --file localstack/compose.yaml up --detach --wait localstack
  export AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_REGION=us-east-1
  for function in "$@"; do
    cargo lambda deploy --endpoint-url http://127.0.0.1:4566 --enable-function-url \
      --env-var "ATLAS_STORE=s3://atlas,ATLAS_VAULT=main,ATLAS_AUTH=jwt,ATLAS_JWT_SECRET=$ATLAS_JWT_SECRET,AWS_ALLOW_HTTP=true,AWS_ENDPOINT_URL=http://localhost.localstack.cloud:4566" \
      "$function"
  done
  ;;
*) fail "unknown target '$where'; say aws or local" ;;
esac
