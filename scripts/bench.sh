#!/usr/bin/env bash
# Tunes the workloads of a suite, each with a limited number of trials, and compares them with other libraries on this
# machine. What is tuned already (build/bench.db) is not tuned again.
#   scripts/bench.sh [SUITE]      native (default): each side in the layout it likes best; nchw: plain NCHW at both ends
# TRIALS=300 and THREADS=1 may be set in the environment.
source "$(dirname "$0")/common.sh"
cd "$TEMPER_ROOT"
suite="${1:-native}"
trials="${TRIALS:-300}"
threads="${THREADS:-1}"
database=build/bench.db
temper=build/release/bin/temper
scripts/fetch_peers.sh

# A first, quick run lists the suite and its keys; the database knows how many trials each key has had.
build/venv/bin/python3 - "$temper" "$suite" "$trials" "$threads" "$database" <<'PYTHON'
import json
import os
import subprocess
import sys

temper, suite, trials, threads, database = sys.argv[1:]
common = ["--threads", threads, "--db", database]


def ask(*words):
    answer = subprocess.run([temper, *words, "--json"], stdout=subprocess.PIPE, check=False)
    if answer.returncode != 0:
        sys.exit(answer.returncode)
    return json.loads(answer.stdout)


workloads = ask("bench", "--suite", suite, "--rounds", "5", *common)["workloads"]
done = {}
if os.path.exists(database):
    for task in ask("db", "list", "--db", database)["tasks"]:
        done[task["task"]] = done.get(task["task"], 0) + task["records"]
for workload in workloads:
    missing = int(trials) - done.get(workload["key"], 0)
    if missing <= 0:
        print(f"== tune {workload['name']}: has had its {trials} trials", flush=True)
        continue
    print(f"== tune {workload['name']}: {missing} trials", flush=True)
    code = subprocess.run([temper, "tune", "--op", workload["spec"], "--trials", str(missing), *common], check=False).returncode
    if code != 0:
        sys.exit(code)
PYTHON
say "compare, suite $suite, $threads thread(s), at most $trials trials each"
"$temper" bench --suite "$suite" --threads "$threads" --db "$database" --peer onednn,openblas,onnxruntime,openvino

say "replay: the best kernel of every task in $database is rebuilt, byte for byte, by a program that knows no operator and no template"
build/venv/bin/python3 - "$temper" "$database" <<'PYTHON'
import json
import pathlib
import subprocess
import sys
import tempfile

temper, database = sys.argv[1:]


def ask(*words):
    return json.loads(subprocess.run([temper, *words, "--json"], stdout=subprocess.PIPE, check=True).stdout)


failed = []
tasks = [task["task"] for task in ask("db", "list", "--db", database)["tasks"]]
for task in tasks:
    explained = ask("explain", "--op", task, "--db", database)
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder, "kernel.trace")
        trace.write_text(explained["trace"])
        replay = pathlib.Path(temper).with_name("temper-replay")
        rebuilt = subprocess.run([replay, trace], stdout=subprocess.PIPE, text=True, check=True).stdout
    if rebuilt.split()[0] != explained["artifact_hash"]:
        failed.append(task)
print(f"{len(tasks) - len(failed)} of {len(tasks)} are equal" + (": not " + ", ".join(failed) if failed else ""))
sys.exit(1 if failed else 0)
PYTHON
