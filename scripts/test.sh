#!/usr/bin/env bash
# Builds the release preset with everything in it and runs every test. Fetches the models and peers that tests use.
#   scripts/test.sh [CTEST OPTION...]     e.g. scripts/test.sh -L store
source "$(dirname "$0")/common.sh"
scripts="$TEMPER_ROOT/scripts"
configure release
build release
"$scripts/fetch_peers.sh"
"$scripts/fetch_model.sh"
"$scripts/conformance.sh" --fetch
say "run the tests"
cd "$TEMPER_ROOT"
ctest --test-dir build/release --output-on-failure --no-tests=error --parallel "$TEMPER_JOBS" "$@" 2>&1 |
  tee build/release/ctest.log | grep -v -E '^ *(Start +[0-9]+:|[0-9]+/[0-9]+ Test .* Passed )' || true
grep -q '^100% tests passed' build/release/ctest.log || die "some tests failed; build/release/ctest.log has everything"
