#!/usr/bin/env bash
# Writes .github/workflows/release.yml, as `dist` makes it of Cargo.toml, and a mend:
#
#   infra/release_workflow.sh           writes it
#   infra/release_workflow.sh --check   fails if it is another, if the release cannot be planned, or if a workflow has a fault
#
# The mend: dist uploads the software bill of materials under a name that its own step does not set.
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

if [ "${1:-}" != --check ]; then
  cp "$made/$workflow" "$workflow"
  exit
fi
diff -u "$workflow" "$made/$workflow" || fail "$workflow is not what Cargo.toml says; run: make release-workflow"
dist plan --verbose error >/dev/null || fail "the release cannot be planned: dist plan says why"
# `$/` is newer than what actionlint knows.
if command -v actionlint >/dev/null; then actionlint -ignore 'is not following the format'; fi
