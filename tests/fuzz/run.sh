#!/usr/bin/env bash
# Fuzzes each target, or those named, for a number of seconds: run.sh SECONDS [TARGET…]
# What a target finds is in artifacts/TARGET; what it learnt, in corpus/TARGET.
set -euo pipefail
seconds=$1
shift
cd "$(dirname "$0")"

cargo +nightly run --quiet --example seeds -- corpus
for target in ${*:-$(cargo fuzz list --fuzz-dir .)}; do
  # Without a sanitizer, which would find what unsafe code does: the workspace has none, and it is three times as fast.
  cargo +nightly fuzz run --fuzz-dir . --sanitizer none "$target" -- \
    -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=16384 -print_final_stats=1
done
