#!/usr/bin/env bash
# Writes .github/workflows/release.yml, as `dist` makes it of Cargo.toml, and two mends:
#
#   infra/release_workflow.sh           writes it
#   infra/release_workflow.sh --check   fails if it is another, if the release cannot be planned, or if a workflow has a fault
#
# The mends: dist uploads the software bill of materials under a name that its own step does not set; and it publishes what there is when the
# check before the builds has failed, since builds that were skipped count as well.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PATH=$PWD/target/tools/bin:$PATH

fail() { echo "infra/release_workflow.sh: $*" >&2; exit 1; }

workflow=.github/workflows/release.yml
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
# The plan needs manifests, licences and the page; dist writes into the folder that it is called in.
git ls-files -z -- '*Cargo.toml' Cargo.lock README.md 'LICENSE*' '*/src/lib.rs' '*/src/main.rs' '*.rs' | xargs -0 cp --parents -t "$made"
sed -i '/^allow-dirty = /d' "$made/Cargo.toml"
(cd "$made" && dist generate --mode ci --verbose error >/dev/null) || fail "dist could not make the workflow"
sed -i 's/steps\.cargo-cyclonedx\.output\./steps.cargo-cyclonedx.outputs./' "$made/$workflow"
sed -i -E "/^  host:/,/^    if:/ {
  s/^      - build-global-artifacts$/&\n      - custom-check-release/
  s/always\(\) &&/& needs.custom-check-release.result == 'success' \&\&/
}" "$made/$workflow"

if [ "${1:-}" != --check ]; then
  cp "$made/$workflow" "$workflow"
  exit
fi
diff -u "$workflow" "$made/$workflow" || fail "$workflow is not what Cargo.toml says; run: make release-workflow"
dist plan --verbose error >/dev/null || fail "the release cannot be planned: dist plan says why"
# `$/` is newer than what actionlint knows.
if command -v actionlint >/dev/null; then actionlint -ignore 'is not following the format'; fi
