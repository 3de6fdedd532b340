#!/usr/bin/env bash
# Runs every check of the house in turn and says how long each took. All run, then the failed ones are listed.
#   scripts/check.sh          what CI runs
#   scripts/check.sh --full   all tests under the sanitizers, and a long run whose memory must not grow
source "$(dirname "$0")/common.sh"
cd "$TEMPER_ROOT"
every=()
[ "${1:-}" = --full ] && every=(all)

failed=()
check() {
  local name="$1" start=$SECONDS
  shift
  say "check $name: $*"
  if "$@"; then
    say "check $name: passed, $((SECONDS - start)) s"
  else
    say "check $name: FAILED, $((SECONDS - start)) s"
    failed+=("$name")
  fi
}
check scripts scripts/check_scripts.sh
check format scripts/format.sh --check
check layers python3 scripts/check_layers.py
check tidy scripts/check_tidy.sh
check asan scripts/check_sanitizers.sh asan "${every[@]}"
check tsan scripts/check_sanitizers.sh tsan
check install scripts/check_install.sh
check examples scripts/check_examples.sh
if [ ${#every[@]} -gt 0 ]; then check memory python3 scripts/check_memory.py; fi
[ ${#failed[@]} -eq 0 ] || die "failed checks: ${failed[*]}"
say "all checks passed"
