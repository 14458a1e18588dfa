#!/usr/bin/env bash
# Lints the deployment template, the container file and the units. No linter needs an account or the network.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export PATH=$PWD/target/tools/infra/bin:$PATH
export SAM_CLI_TELEMETRY=0 AWS_DEFAULT_REGION=${AWS_DEFAULT_REGION:-eu-west-1}
cfn-lint --non-zero-exit-code warning infra/template.yaml
sam validate --lint --template infra/template.yaml
hadolint localstack/Containerfile

# The units, where the system has what reads them; the program that they start need not be installed.
if command -v systemd-analyze >/dev/null; then
  units=$(mktemp -d)
  trap 'rm -rf "$units"' EXIT
  for unit in infra/*.service infra/*.timer; do
    sed 's|^ExecStart=/usr/local/bin/atlas|ExecStart=/bin/true|' "$unit" >"$units/${unit##*/}"
  done
  mkdir "$units/atlas-sync.service.d"
  cp infra/atlas-sync-mount.conf "$units/atlas-sync.service.d/mount.conf"
  said=$(SYSTEMD_UNIT_PATH=$units: systemd-analyze verify --man=no "$units"/*.service "$units"/*.timer 2>&1) || true
  if grep -F "$units" <<<"$said" || grep -F atlas- <<<"$said"; then exit 1; fi
fi
