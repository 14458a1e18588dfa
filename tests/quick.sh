#!/usr/bin/env bash
# Runs the library tests of some crates, by their folders in shared/, or of those that differ from the last commit: quick.sh [CRATE…]
#
# All libraries are built as for `make test`: for a part of the workspace alone cargo would build the dependencies once more.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

crates=$*
if [ -z "$crates" ]; then
  crates=$({ git diff --name-only HEAD; git ls-files --others --exclude-standard; } |
    sed -n 's#^shared/\([^/]*\)/src/.*#\1#p' | sort -u)
  crates=${crates:-access ops tools mcp web}
fi
# Fewer random cases than in `make test`.
export PROPTEST_CASES=${PROPTEST_CASES:-16}
programs=$(cargo test --workspace --lib --locked --no-run 2>&1 | tee /dev/stderr |
  sed -n 's#^ *Executable .*(\(.*\))$#\1#p')
for crate in $crates; do
  program=$(grep "/atlas_$crate-" <<<"$programs") || { echo "tests/quick.sh: there is no crate shared/$crate" >&2; exit 1; }
  echo "shared/$crate"
  program=$(realpath "$program")
  (cd "shared/$crate" && "$program" --quiet)
done
