#!/usr/bin/env bash
# Fails unless a release can be published: the repository's owner is named, in one spelling, the images are pinned, and tests ran beside the
# release before.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() { echo "infra/check_release.sh: $*" >&2; exit 1; }

repository=$(sed -n 's/^repository = "\(.*\)"$/\1/p' Cargo.toml)
tap=$(sed -n 's/^tap = "\(.*\)"$/\1/p' Cargo.toml)
[[ $repository =~ ^https://github\.com/([^/]+)/([^/]+)$ ]] || fail "\`repository\` in Cargo.toml is no address on GitHub: $repository"
owner=${BASH_REMATCH[1]}
[ "$owner" != OWNER ] || fail "\`repository\` and \`tap\` in Cargo.toml have a placeholder: write the owner in place of OWNER"
[ "$tap" = "$owner/homebrew-tap" ] || fail "\`tap\` in Cargo.toml is of another owner than \`repository\`: $tap"
# Where this runs, if that is told.
here=${GITHUB_REPOSITORY:-$owner/${BASH_REMATCH[2]}}
[ "https://github.com/$here" = "$repository" ] || fail "this is $here, and \`repository\` in Cargo.toml is $repository"
infra/pin_images.sh --check
# A clone without history and tags knows no release before, and would find nothing wrong.
[ "$(git rev-parse --is-shallow-repository)" = false ] || fail "the release before is unknown in this clone: git fetch --unshallow --tags"
last=$(git describe --tags --abbrev=0 --match 'v*' HEAD^ 2>/dev/null || true)
if [ -z "$last" ]; then
  echo "infra/check_release.sh: no tag \`v…\` is older than this commit; if there was a release before: git fetch --tags" >&2
elif [ "$(git rev-parse "$last^{commit}")" != "$(<tests/previous/REVISION)" ]; then
  fail "tests/previous/REVISION is not the release before: git rev-parse '$last^{commit}' > tests/previous/REVISION"
fi
