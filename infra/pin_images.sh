#!/usr/bin/env bash
# Writes beside the tag of every container image the digest that it has now, so that a release is built of what was looked at:
#
#   infra/pin_images.sh [FILE…]           of the container file and compose.yaml, if none is named
#   infra/pin_images.sh --check [FILE…]   fails, and says which, if one has none
#
# It asks the images' registries, with Docker. An image that has a digest keeps it: take it out to have a new one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() { echo "infra/pin_images.sh: $*" >&2; exit 1; }

check=
if [ "${1:-}" = --check ]; then check=yes; shift; fi
files=("$@")
[ ${#files[@]} -gt 0 ] || files=(localstack/Containerfile localstack/compose.yaml)

# What `FROM` or `image:` names in a registry, without a digest; stages and images that are built here have no registry.
images=$(grep -hoP '^\s*(FROM|image:)\s+\K[a-z0-9-]+(\.[a-z0-9-]+)+/[^\s@]+(?=\s|$)' "${files[@]}" | sort -u) || true
[ -n "$images" ] || exit 0
[ -z "$check" ] || fail "these have no digest; run infra/pin_images.sh: $(tr '\n' ' ' <<<"$images")"
while read -r image; do
  digest=$(docker buildx imagetools inspect --format '{{.Manifest.Digest}}' "$image") || fail "no digest of $image"
  [[ $digest =~ ^sha256:[0-9a-f]{64}$ ]] || fail "$image has no digest, but $digest"
  sed -E -i "s|^(\s*(FROM\|image:)\s+)${image//./\\.}(\s\|$)|\1$image@$digest\3|" "${files[@]}"
done <<<"$images"
