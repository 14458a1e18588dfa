#!/usr/bin/env bash
# Puts fusermount3, with which rclone mounts a remote, into target/tools/bin. There is nothing to do where the system
# has it. Where it cannot be had, this says so and goes on: the tests that mount are skipped then.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

missing() { echo "localstack/setup_fuse.sh: $*, or the tests of the rclone mount are skipped" >&2; exit 0; }

PATH=$PWD/target/tools/bin:$PATH
if command -v fusermount3 >/dev/null || ! [ -e /dev/fuse ]; then
  exit 0
fi
# Without root it has to be setuid, which is for the system's own package to install.
[ "$(id -u)" = 0 ] || missing "install the package fuse3 of your system"
command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || missing "install the package fuse3 of your system"

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
download() { (cd "$dir" && apt-get -qq -o APT::Sandbox::User=root download fuse3); }
download 2>/dev/null || { apt-get -qq update && download; } || missing "apt-get cannot download fuse3: install it"
dpkg-deb --extract "$dir"/fuse3_*.deb "$dir/fuse3"
mkdir -p target/tools/bin
install --mode 755 "$(find "$dir/fuse3" -type f -name fusermount3)" target/tools/bin/fusermount3
