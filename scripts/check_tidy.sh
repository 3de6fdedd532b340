#!/usr/bin/env bash
# Lints every source file of src/ with clang-tidy-19 and the checks of .clang-tidy; a warning is an error.
#   scripts/check_tidy.sh [FILE...]    only these files
# A file whose preprocessed text and checks have passed before is skipped (build/tidy holds the hashes).
source "$(dirname "$0")/common.sh"
cd "$TEMPER_ROOT"
[ -f build/release/compile_commands.json ] || configure release
if grep -q '"temper/[a-z]*/[a-z_]*\.pb\.h"\|onnx.*\.pb\.h"' -r src --include='*.h' --include='*.cpp' 2>/dev/null; then
  build release generated >/dev/null 2>&1 || build release >/dev/null
fi
exec python3 scripts/check_tidy.py --build build/release --jobs "$TEMPER_JOBS" "$@"
