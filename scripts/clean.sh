#!/usr/bin/env bash
# Removes what was built; keeps what was downloaded.
source "$(dirname "$0")/common.sh"
[ -d "$TEMPER_ROOT/build" ] || exit 0
say "clean: remove build/, keep build/models and build/venv"
find "$TEMPER_ROOT/build" -mindepth 1 -maxdepth 1 ! -name models ! -name venv -exec rm -rf {} +
