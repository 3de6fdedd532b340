#!/usr/bin/env bash
# Builds the release preset: the command build/release/bin/temper and the processes it starts.
#   scripts/build.sh [NINJA TARGET...]    the default is `programs`; `all` adds tests, benches and examples
source "$(dirname "$0")/common.sh"
[ $# -gt 0 ] || set -- programs
configure release
build release "$@"
