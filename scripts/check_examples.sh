#!/usr/bin/env bash
# Builds every program of examples/ and runs it in an empty folder; each must end with exit code 0.
source "$(dirname "$0")/common.sh"
cd "$TEMPER_ROOT"
if [ ! -f examples/CMakeLists.txt ]; then
  say "examples: there are none"
  exit 0
fi
configure release
build release
mapfile -t programs < <(find build/release/bin -maxdepth 1 -type f -name 'example_*' | sort)
[ ${#programs[@]} -gt 0 ] || die "examples/CMakeLists.txt built no program named example_*"
for program in "${programs[@]}"; do
  work="$(mktemp -d)"
  say "examples: run $(basename "$program")"
  (cd "$work" && timeout 300 "$TEMPER_ROOT/$program") || die "$(basename "$program") failed; its folder is $work"
  rm -rf "$work"
done
say "examples: ${#programs[@]} ran"
