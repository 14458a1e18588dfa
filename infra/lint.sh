#!/usr/bin/env bash
# Lints the deployment template and the container file. No linter needs an account or the network.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export PATH=$PWD/target/tools/infra/bin:$PATH
export SAM_CLI_TELEMETRY=0 AWS_DEFAULT_REGION=${AWS_DEFAULT_REGION:-eu-west-1}
cfn-lint --non-zero-exit-code warning infra/template.yaml
sam validate --lint --template infra/template.yaml
hadolint localstack/Containerfile
