#!/usr/bin/env bash
# Builds the release preset: the command build/release/bin/temper and the processes it starts.
#   scripts/build.sh [NINJA TARGET...]
source "$(dirname "$0")/common.sh"
configure release
build release "$@"
