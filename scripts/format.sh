#!/usr/bin/env bash
# Formats the C and C++ files of the project in place.
#   scripts/format.sh           format
#   scripts/format.sh --check   only say which lines differ; exit code 1 when some do
source "$(dirname "$0")/common.sh"
cd "$TEMPER_ROOT"
mapfile -t files < <(project_files src include tests bench examples | grep -E '\.(h|hpp|c|cc|cpp)$' || true)
[ ${#files[@]} -gt 0 ] || die "no source files found"
if [ "${1:-}" = "--check" ]; then
  clang-format-19 --dry-run -Werror "${files[@]}" || die "run 'make format'"
  say "format: ${#files[@]} files are formatted"
else
  clang-format-19 -i "${files[@]}"
  say "format: formatted ${#files[@]} files"
fi
