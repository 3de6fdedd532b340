#!/usr/bin/env bash
# Runs the ONNX backend suite (node, pytorch-converted, pytorch-operator, simple) by default schedules and prints what
# passes, what is refused at import and why. The suite comes from the wheel of `onnx`, pinned by its SHA-256.
#   scripts/conformance.sh [OPTION of temper-conformance...]     e.g. --only softmax, --cases, --json
#   scripts/conformance.sh --fetch                               only fetches the suite
source "$(dirname "$0")/common.sh"
package="onnx==1.22.0"
wheel_hash="1d0a2bdb15eb2b3cb65c438f3423d9620d14fdce32f92380e6bb1b2e09568ef5"
folder="$TEMPER_ROOT/build/onnx-suite"
data="$folder/onnx/backend/test/data"

if [ ! -f "$folder/.$wheel_hash" ]; then
  say "conformance suite: fetch $package" >&2
  python="$("$TEMPER_ROOT/scripts/fetch_peers.sh" --python)"
  mkdir -p "$folder"
  work="$(mktemp -d "$folder/.fetch.XXXXXX")"
  # shellcheck disable=SC2064
  trap "rm -rf '$work'" EXIT
  for attempt in 1 2 3; do
    "$python" -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --python-version 3.11 \
      --platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64 --dest "$work" "$package" && break
    [ "$attempt" -lt 3 ] || die "pip could not download $package; check the network and run this again"
    sleep $((attempt * 5))
  done
  wheel="$(find "$work" -name '*.whl')"
  [ "$(sha256sum "$wheel" | cut -d' ' -f1)" = "$wheel_hash" ] ||
    die "the wheel of $package has the wrong hash: expected sha256 $wheel_hash"
  rm -rf "$folder/onnx"
  "$python" - "$wheel" "$folder" <<'PYTHON'
import sys, zipfile
wheel, folder = sys.argv[1:]
with zipfile.ZipFile(wheel) as archive:
    archive.extractall(folder, [name for name in archive.namelist() if name.startswith("onnx/backend/test/data/")])
PYTHON
  touch "$folder/.$wheel_hash"
  rm -rf "$work"
  trap - EXIT
fi
[ "${1:-}" = "--fetch" ] && exit 0
program="$TEMPER_ROOT/build/release/test_programs/temper-conformance"
configure release >&2
build release temper-conformance >&2
exec "$program" "$data" --at-least 650 "$@"
