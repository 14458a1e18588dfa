#!/usr/bin/env bash
# Stops what localstack/start.sh started, and removes what it kept:
#
#   localstack/stop.sh [localstack|minio [PORT]]
#
# Without PORT every store of that kind, without a kind every store.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

shopt -s nullglob
for dir in target/stores/${1:-*}-${2:-*}; do
  pid=$(cat "$dir/pid" 2>/dev/null) || continue
  # A number alone may by now be another program's.
  case $(ps -o args= -p "$pid" 2>/dev/null) in
  *localstack.runtime.main* | *minio*) ;;
  *) pid= ;;
  esac
  if [ -n "$pid" ]; then
    kill "$pid" 2>/dev/null || true
    for _ in $(seq 50); do
      kill -0 "$pid" 2>/dev/null || break
      sleep 0.1
    done
    kill -9 "$pid" 2>/dev/null || true
  fi
  rm -rf "$dir"
done
