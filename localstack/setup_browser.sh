#!/usr/bin/env bash
# Installs Debian's chromium, unless the system has one. Where it cannot be had, this says so and goes on: the tests
# that open pages in it are skipped then.
set -euo pipefail

missing() { echo "localstack/setup_browser.sh: $*, or the tests of pages in a browser are skipped" >&2; exit 0; }

if command -v chromium >/dev/null; then
  exit 0
fi
[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || missing "install the package chromium of your system"
install() { DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends --yes chromium >/dev/null; }
install 2>/dev/null || { apt-get -qq update && install; } || missing "apt-get cannot install chromium: install it"
