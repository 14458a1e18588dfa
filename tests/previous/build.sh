#!/usr/bin/env bash
# Builds `atlas` of the revision in tests/previous/REVISION as target/previous/atlas: the program that tests run beside the new one.
# It is built as tests build the new one, and into the same folder, so that crates of other makers are compiled once for both.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

fail() { echo "tests/previous/build.sh: $*" >&2; exit 1; }

revision=$(<tests/previous/REVISION)
target=$(realpath --canonicalize-missing "${CARGO_TARGET_DIR:-target}")
made=$target/previous
[ "$(cat "$made/REVISION" 2>/dev/null)" != "$revision" ] || exit 0
# A clone without history has only the newest commit.
git cat-file -e "$revision^{commit}" 2>/dev/null || git fetch --quiet --depth 1 origin "$revision" || fail "this repository has no revision $revision"
rm -rf "$made"
mkdir -p "$made/src"
git archive "$revision" | tar -x -C "$made/src"
# Cargo tells packages apart by their version and their place in the workspace: its own crates become others, and those that both have stay the same.
sed -i '/^\[workspace\.package\]/,/^$/ s/^version = "\([^"]*\)"/version = "\1+previous"/' "$made/src/Cargo.toml"
rm -rf "$made/src/infra/vendor"
cp -a infra/vendor "$made/src/infra/vendor"
cargo test --quiet --workspace --test program --no-run --manifest-path "$made/src/Cargo.toml" --target-dir "$target"
cp "$target/debug/atlas" "$made/atlas"
rm -rf "$made/src"
cp tests/previous/REVISION "$made/REVISION"
