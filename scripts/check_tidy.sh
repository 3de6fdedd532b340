#!/usr/bin/env bash
# Lints every source file of src/ with clang-tidy-19 and the checks of .clang-tidy; a warning is an error.
#   scripts/check_tidy.sh [FILE...]    only these files
# A file whose preprocessed text and checks have passed before, in any clone, is skipped (scripts/check_tidy.py).
source "$(dirname "$0")/common.sh"
cd "$TEMPER_ROOT"
configure release
build release temper_onnx_schema temper_messages >/dev/null  # sources include the headers generated with them
exec python3 scripts/check_tidy.py --build build/release --jobs "$TEMPER_JOBS" "$@"
