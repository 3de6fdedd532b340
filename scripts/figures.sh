#!/usr/bin/env bash
# Everything that README.md says about whole models and plain NCHW operators, from nothing: fetches the models and the
# peers, then checks, tunes and times (scripts/figures.py). Can be stopped and started again.
#   scripts/figures.sh [OPTION OF scripts/figures.py...]     e.g. --budget-scale 0.1, --only light_resnet50
source "$(dirname "$0")/common.sh"
cd "$TEMPER_ROOT"
scripts/fetch_peers.sh
scripts/fetch_model.sh --figures
build/venv/bin/python3 scripts/render_page.py build/pages
exec build/venv/bin/python3 scripts/figures.py "$@"
