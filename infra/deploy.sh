#!/usr/bin/env bash
# Deploys what `make package` built:
#
#   infra/deploy.sh aws   FUNCTION…   with SAM, into the account that the AWS credentials name
#   infra/deploy.sh local FUNCTION…   into the Lambda service of LocalStack, which runs in Docker
#
# STACK (default `atlas`) names the stack, and ARCH (default `x86_64`) is the one that was packaged. SEARCH=contextual deploys the `search` that
# runs embedding models with a network, with SEARCH_MEMORY megabytes (default 1769, which is one processor); say it each time. BUILDERS=true
# adds what builds vaults from plain objects and compacts them. infra/parameters.py names the variable of each parameter of the template: one
# that is not set stays as it was deployed before.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() { echo "infra/deploy.sh: $*" >&2; exit 1; }

where=${1:?aws or local}
shift
export ARCH=${ARCH:-x86_64}
export PATH=$PWD/target/tools/infra/bin:$PWD/target/tools/tools/bin:$PATH
export SAM_CLI_TELEMETRY=0

for function in "$@"; do
  [ -f "target/lambda/$function/bootstrap.zip" ] ||
    fail "target/lambda/$function/bootstrap.zip is missing; run: make package ARCH=$ARCH"
done

template=infra/template.yaml
memory=512
case ${SEARCH:-} in
"") ;;
contextual)
  [ -f target/lambda/contextual/search/bootstrap.zip ] ||
    fail "target/lambda/contextual/search/bootstrap.zip is missing; run: make package ARCH=$ARCH"
  [ "$where" = aws ] || fail "SEARCH=contextual is for aws"
  # SAM takes no parameter as the place of a package. Both files are one folder deep, so the places stay as they are.
  template=target/template.yaml
  sed 's#/lambda/search/#/lambda/contextual/search/#' infra/template.yaml >"$template"
  memory=1769
  ;;
*) fail "unknown SEARCH '$SEARCH'; say contextual, or nothing" ;;
esac
export SEARCH_MEMORY=${SEARCH_MEMORY:-$memory}

# Where the deployment gives tokens itself, its own keys are those that tokens are checked against.
if [ -n "${ATLAS_OAUTH_KEYS_FILE:-}" ]; then
  [ -n "${ATLAS_RESOURCE:-}" ] || fail "set ATLAS_RESOURCE to the address that clients use, such as https://notes.example.org"
  command -v atlas >/dev/null || fail "atlas is missing; run: make install"
  ATLAS_JWKS=${ATLAS_JWKS:-$(atlas auth keys)}
  OAUTH_KEYS=$(cat "$ATLAS_OAUTH_KEYS_FILE")
  export ATLAS_JWKS OAUTH_KEYS ATLAS_AUTHORIZATION_SERVERS=${ATLAS_AUTHORIZATION_SERVERS:-$ATLAS_RESOURCE}
fi

case $where in
aws)
  command -v sam >/dev/null || fail "the SAM command line is missing; run: make setup-infra"
  [ -n "${AWS_ACCESS_KEY_ID:-}${AWS_PROFILE:-}${AWS_WEB_IDENTITY_TOKEN_FILE:-}${AWS_CONTAINER_CREDENTIALS_FULL_URI:-}" ] ||
    [ -f "${AWS_SHARED_CREDENTIALS_FILE:-$HOME/.aws/credentials}" ] ||
    [ -f "${AWS_CONFIG_FILE:-$HOME/.aws/config}" ] ||
    fail "no AWS credentials: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
  # A file keeps secrets out of the list of processes, and values as they are: SAM cuts them at quotes and line breaks on its command line.
  parameters=$(mktemp -d)
  trap 'rm -rf "$parameters"' EXIT
  (umask 077 && infra/parameters.py >"$parameters/parameters.yaml")
  sam deploy --template-file "$template" --stack-name "${STACK:-atlas}" \
    --capabilities CAPABILITY_IAM --resolve-s3 --no-fail-on-empty-changeset \
    --parameter-overrides "file://$parameters/parameters.yaml"
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
