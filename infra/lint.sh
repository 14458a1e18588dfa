#!/usr/bin/env bash
# Lints the deployment template, the container file, the packages for agents' clients and the units. No linter needs an account or the network.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export PATH=$PWD/target/tools/infra/bin:$PATH
export SAM_CLI_TELEMETRY=0 AWS_DEFAULT_REGION=${AWS_DEFAULT_REGION:-eu-west-1}
cfn-lint --non-zero-exit-code warning infra/template.yaml
sam validate --lint --template infra/template.yaml
hadolint localstack/Containerfile

# SAM reads the parameters of a deployment as they are.
parameters=$(mktemp --suffix=.yaml)
trap 'rm -f "$parameters"' EXIT
env -i PATH="$PATH" ATLAS_JWKS='{"keys": [{"kty": "OKP"}]}' OAUTH_KEYS=$'{\n "signing": "a b"\n}' CONFIG_KEY= infra/parameters.py >"$parameters"
python - "$parameters" <<'PYTHON'
import sys

from samcli.cli.types import CfnParameterOverridesType

read = CfnParameterOverridesType().convert([f"file://{sys.argv[1]}"], None, None)
said = {"ConfigKey": "", "Jwks": '{"keys": [{"kty": "OKP"}]}', "OauthKeys": '{\n "signing": "a b"\n}'}
assert read.items() >= said.items(), read
PYTHON

# The packages for agents' clients: the plugin as it stands, and what is made of a binary.
infra/agents/pack.py --check
made=$(mktemp -d)
trap 'rm -rf "$made" "$parameters"' EXIT
cp -R .claude-plugin infra/agents "$made"
sed 's|"source": "./infra/agents/|"source": "./agents/|' .claude-plugin/marketplace.json >"$made/.claude-plugin/marketplace.json"
infra/agents/pack.py /bin/true x86_64-unknown-linux-gnu "$made" >/dev/null
skillsaw lint --strict "$made"

# The units, where the system has what reads them; the program that they start need not be installed.
if command -v systemd-analyze >/dev/null; then
  units=$(mktemp -d)
  trap 'rm -rf "$units" "$made" "$parameters"' EXIT
  for unit in infra/*.service infra/*.timer; do
    sed 's|^ExecStart=/usr/local/bin/atlas|ExecStart=/bin/true|' "$unit" >"$units/${unit##*/}"
  done
  mkdir "$units/atlas-sync.service.d"
  cp infra/atlas-sync-mount.conf "$units/atlas-sync.service.d/mount.conf"
  said=$(SYSTEMD_UNIT_PATH=$units: systemd-analyze verify --man=no "$units"/*.service "$units"/*.timer 2>&1) || true
  if grep -F "$units" <<<"$said" || grep -F atlas- <<<"$said"; then exit 1; fi
fi
