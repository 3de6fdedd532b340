#!/usr/bin/env bash
# Installs into an empty folder, builds a C program against the installed package as a user would, and looks at what the
# program loads: the runtime must not need the compiler, Protocol Buffers, XGBoost or SQLite.
source "$(dirname "$0")/common.sh"
cd "$TEMPER_ROOT"
configure release
build release programs
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
cmake --install build/release --prefix "$work/prefix" >"$work/install.log" || { cat "$work/install.log" >&2; die "installing failed"; }
mkdir "$work/user"
cat >"$work/user/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES C CXX)
find_package(temper 0.1 REQUIRED COMPONENTS tuner)
add_executable(user user.c)
target_link_libraries(user PRIVATE temper::runtime)
add_executable(tuner tuner.cpp)
target_compile_features(tuner PRIVATE cxx_std_20)
target_link_libraries(tuner PRIVATE temper::store)
CMAKE
cat >"$work/user/user.c" <<'C'
#include <stdio.h>
#include <temper/runtime.h>
int main(void) {
  temper_error error = {0};
  if (temper_model_load("missing.temper", 1, &error) != NULL || error.status != TEMPER_NOT_FOUND) return 1;
  puts(error.message);
  return 0;
}
C
cat >"$work/user/tuner.cpp" <<'CPP'
#include <temper/store/sqlite_store.h>
int main() { return static_cast<int>(temper::store::open_in_memory()->tasks().size()); }
CPP
cmake -S "$work/user" -B "$work/build" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix" >"$work/user.log" 2>&1 &&
  cmake --build "$work/build" >>"$work/user.log" 2>&1 || { cat "$work/user.log" >&2; die "a program cannot be built against the installed package"; }
"$work/build/user" | head -n 1
"$work/build/tuner"
loaded="$(ldd "$work/build/user")"
if grep -E -i 'llvm|protobuf|xgboost|sqlite|hwloc' <<<"$loaded"; then die "a program that runs models loads the libraries above"; fi
"$work/prefix/bin/temper" --version
say "install: command, headers, libraries and CMake package work from another folder"
