#!/usr/bin/env bash
# Compares Temper with other libraries on this machine, each in the layout it likes best.
#   scripts/bench.sh [OPTION OF temper bench...]
source "$(dirname "$0")/common.sh"
cd "$TEMPER_ROOT"
scripts/fetch_peers.sh
[ $# -gt 0 ] || set -- --suite native --threads 1
say "temper bench $*"
build/release/bin/temper bench "$@"
