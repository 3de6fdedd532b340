#!/usr/bin/env bash
# Builds and runs tests under sanitizers.
#   scripts/check_sanitizers.sh asan [FOLDER...]   address and undefined behaviour
#   scripts/check_sanitizers.sh tsan [FOLDER...]   data races
# FOLDER is one of tests/; the default is every folder of the list below that exists; `all` means all of tests/.
source "$(dirname "$0")/common.sh"
cd "$TEMPER_ROOT"
preset="${1:-}"
declare -A threaded=()
[ $# -gt 0 ] && shift
case "$preset" in
  asan) rooms=(support target record search ir analysis ops schedule nest space lower store protocol runtime graph) ;;
  tsan)
    rooms=(support runtime store)
    # Rooms of whose tests some alone use threads, and which.
    [ $# -gt 0 ] || threaded=([search]='Comparison.*' [cost]='ModelScorer.*:Analytic.AModelScorer*')
    ;;
  *) die "usage: scripts/check_sanitizers.sh asan|tsan [FOLDER...]" ;;
esac
if [ "${1:-}" = all ]; then
  rooms=()
  for folder in tests/*/; do rooms+=("$(basename "$folder")"); done
elif [ $# -gt 0 ]; then
  rooms=("$@")
fi
targets=()
labels=""
for room in "${rooms[@]}"; do
  if compgen -G "tests/$room/*_test.cpp" >/dev/null; then
    targets+=("test_$room")
    labels="$labels|$room"
  elif [ $# -gt 0 ] && [ "$1" != all ]; then
    die "tests/$room has no tests"
  fi
done
[ ${#targets[@]} -gt 0 ] || die "no tests found"
for room in "${!threaded[@]}"; do targets+=("test_$room"); done
# Instrumented code makes GCC warn of what is not there; the release build holds warnings to be errors.
configure "$preset" -DTEMPER_BUILD_BENCH=OFF -DTEMPER_BUILD_EXAMPLES=OFF -DTEMPER_WERROR=OFF
build "$preset" "${targets[@]}"
say "$preset: run $(tr '|' ' ' <<<"${labels#|}")"
export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1
ctest --test-dir "build/$preset" --output-on-failure --no-tests=error --parallel "$TEMPER_JOBS" -L "^(${labels#|})\$" >"build/$preset/ctest.log" 2>&1 || {
  grep -v -E '^ *(Start +[0-9]+:|[0-9]+/[0-9]+ Test .* Passed )' "build/$preset/ctest.log" >&2
  die "tests failed under $preset"
}
tail -n 3 "build/$preset/ctest.log" | sed '/^$/d'
for room in "${!threaded[@]}"; do
  "build/$preset/bin/test_$room" --gtest_filter="${threaded[$room]}" --gtest_brief=1
done
