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
target_link_libraries(tuner PRIVATE temper::tune)
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
#include <temper/tune/tune.h>
#include <cstdio>
// Tunes a tiny product with the installed worker processes; they are named, or found by PATH.
int main(int argc, char**) {
  const auto store = temper::store::open_in_memory();
  temper::tune::Options options;
  options.store = store.get();
  options.trials = 3;
  if (argc == 1) options.programs = TEMPER_PROGRAMS_DIR;
  const temper::tune::Task task = temper::tune::task_from_spec("matmul(m=16,n=16,k=16)", 1);
  const temper::tune::Report report = temper::tune::tune({&task, 1}, options);
  std::printf("tuned %s: %lld trials\n", task.name.c_str(), static_cast<long long>(report.trials));
  return report.trials == 3 && store->tasks().size() == 1 ? 0 : 1;
}
CPP
cmake -S "$work/user" -B "$work/build" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix" >"$work/user.log" 2>&1 &&
  cmake --build "$work/build" >>"$work/user.log" 2>&1 || { cat "$work/user.log" >&2; die "a program cannot be built against the installed package"; }
"$work/build/user" | head -n 1
if grep -q -w avx2 /proc/cpuinfo; then
  "$work/build/tuner" || die "a program that links the installed package cannot tune"
  PATH="$work/prefix/bin:$PATH" "$work/build/tuner" by-path || die "the worker processes are not found by PATH"
fi
loaded="$(ldd "$work/build/user")"
if grep -E -i 'llvm|protobuf|xgboost|sqlite|hwloc' <<<"$loaded"; then die "a program that runs models loads the libraries above"; fi
"$work/prefix/bin/temper" --version
say "install: command, headers, libraries and CMake package work from another folder"
