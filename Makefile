# Temper: entry points for people. CMake does the work (CMakePresets.json); the scripts say what they do.
#   make            build build/release/bin/temper
#   make tune       tune a real model on this machine and compare it with ONNX Runtime
#   make test       build and run all tests
#   make conformance  run the ONNX backend suite: what passes, what is refused at import and why
#   make bench      compare with other libraries, suite `native`
#   make figures    check, tune and time whole models beside other libraries, and write README.md's table (about an hour;
#                   can be stopped and started again; FIGURES="--budget-scale 0.1" for a quick one)
#   make check      format, lint, layer law, sanitizers, examples (`check-full`: all tests under the sanitizers, memory of a long run)
#   make format     format every source file
#   make install    install below PREFIX (default /usr/local), DESTDIR is honoured
#   make clean      remove everything that was built; downloads in build/models and build/venv stay
PREFIX ?= /usr/local
BUDGET ?= 5m
SHELL := /bin/bash
.DEFAULT_GOAL := build
.PHONY: build setup tune test conformance bench figures check check-full format install clean

build: setup
	@scripts/build.sh

setup:
	@scripts/setup.sh

tune: build
	@scripts/tune.sh --budget $(BUDGET)

test: setup
	@scripts/test.sh

conformance: setup
	@scripts/conformance.sh

bench: build
	@scripts/bench.sh

figures: build
	@scripts/figures.sh $(FIGURES)

check: setup
	@scripts/check.sh

check-full: setup
	@scripts/check.sh --full

format:
	@scripts/format.sh

install: build
	@cmake --install build/release --prefix "$(PREFIX)"

clean:
	@scripts/clean.sh
