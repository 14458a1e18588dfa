#!/usr/bin/env bash
# Installs Debian's chromium and its driver, unless the system has them. Where it cannot be had, this says so and goes on: the tests
# that open pages in it are skipped then.
set -euo pipefail

missing() { echo "localstack/setup_browser.sh: $*, or the tests of pages in a browser are skipped" >&2; exit 0; }

if command -v chromium >/dev/null && command -v chromedriver >/dev/null; then
  exit 0
fi
[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || missing "install the packages chromium and chromium-driver of your system"
install() { DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends --yes chromium chromium-driver >/dev/null; }
install 2>/dev/null || { apt-get -qq update && install; } || missing "apt-get cannot install chromium and chromium-driver: install them"
