#!/usr/bin/env bash
# Makes build/venv, a Python environment with ONNX Runtime and OpenVINO in the pinned versions (scripts/peers.txt, hashes checked).
# Does nothing when that is already there.
#   scripts/fetch_peers.sh            the whole environment
#   scripts/fetch_peers.sh --python   only Python and pip; prints the interpreter's path
source "$(dirname "$0")/common.sh"

venv="$TEMPER_ROOT/build/venv"
requirements="$TEMPER_ROOT/scripts/peers.txt"
stamp="$venv/.peers"

if [ ! -x "$venv/bin/python3" ] || ! "$venv/bin/python3" -m pip --version >/dev/null 2>&1; then
  rm -rf "$venv"
  /usr/bin/python3 -m venv "$venv" >&2 || die "python3 -m venv failed; run scripts/setup.sh first"
fi
if [ "${1:-}" = "--python" ]; then
  printf '%s\n' "$venv/bin/python3"
  exit 0
fi
if [ -f "$stamp" ] && cmp -s "$stamp" "$requirements"; then
  say "peers: build/venv is up to date"
  exit 0
fi
say "peers: install $(sed -n 's/^\([a-z]*==[^ ]*\) .*/\1/p' "$requirements" | tr '\n' ' ')into build/venv"
for attempt in 1 2 3; do
  "$venv/bin/python3" -m pip install --quiet --disable-pip-version-check --no-deps --only-binary=:all: --require-hashes \
    --requirement "$requirements" && break
  [ "$attempt" -lt 3 ] || die "pip could not install scripts/peers.txt; check the network and run this again"
  sleep $((attempt * 5))
done
"$venv/bin/python3" -c 'import onnxruntime, openvino
print("== peers: ONNX Runtime", onnxruntime.__version__, "and OpenVINO", openvino.__version__)'
cp "$requirements" "$stamp"
