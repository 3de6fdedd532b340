#!/usr/bin/env bash
# The checks check themselves: shell syntax, and the self-test of the layer check.
source "$(dirname "$0")/common.sh"
cd "$TEMPER_ROOT"
for script in scripts/*.sh .ci/run; do
  bash -n "$script"
  [ "$script" = scripts/common.sh ] || [ -x "$script" ] || die "$script is not executable"
done
python3 scripts/check_layers.py --self-test
