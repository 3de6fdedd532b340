#!/usr/bin/env python3
"""What loading a model costs: Temper's bundles beside ONNX Runtime's sessions.

Each side runs in a process of its own, several times in turn, with inputs of ones: seconds to load (prepare included), peak memory
after ten runs (of the process, and what it grew by from before the load on), and how much memory a thousand further runs add.
Run it with the Python that has ONNX Runtime (build/venv, from scripts/fetch_peers.sh).

  build/venv/bin/python3 scripts/bench_load.py MODEL.onnx MODEL.temper [--threads 1] [--rounds 5] [--json]
"""
import argparse
import json
import statistics
import subprocess
import sys
import time

import temper_model

RUNS = 1000


def status(field):
    """A field of this process's status in bytes."""
    for line in open("/proc/self/status", encoding="ascii"):
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("no field " + field)


def temper_side(path, threads):
    """A function that loads, and one that makes a call of what was loaded."""
    def runner(model, numpy):
        return model.bound(*[[numpy.ones(shape, dtype) for _, shape, dtype in side] for side in (model.inputs, model.outputs)])
    return lambda: temper_model.Model(path, threads), runner


def onnxruntime_side(path, threads, shapes):
    """As `temper_side`; `shapes`: (name, shape, type) of each input."""
    import onnxruntime

    def load():
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    def runner(session, numpy):
        feed = {name: numpy.ones(shape, dtype) for name, shape, dtype in shapes}
        return lambda: session.run(None, feed)
    return load, runner


def child(arguments):
    import numpy
    if arguments.side == "temper":
        load, runner = temper_side(arguments.bundle, arguments.threads)
    else:
        load, runner = onnxruntime_side(arguments.model, arguments.threads, json.loads(arguments.inputs))
    before = status("VmRSS")
    start = time.perf_counter()
    model = load()
    seconds = time.perf_counter() - start
    run = runner(model, numpy)
    for _ in range(10):
        run()
    peak = status("VmHWM")
    resident = status("VmRSS")
    for _ in range(RUNS if arguments.growth else 0):
        run()
    print(json.dumps({"load_seconds": seconds, "peak_bytes": peak, "own_bytes": peak - before,
                      "growth_bytes": status("VmRSS") - resident}))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("bundle")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--side", help=argparse.SUPPRESS)
    parser.add_argument("--inputs", help=argparse.SUPPRESS)
    parser.add_argument("--growth", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.side:
        child(arguments)
        return
    inputs = json.dumps(temper_model.Model(arguments.bundle).inputs)
    sides = {"temper": [], "onnxruntime": []}
    for turn in range(arguments.rounds):
        for side, results in sides.items():
            words = [sys.executable, __file__, arguments.model, arguments.bundle, "--threads", str(arguments.threads),
                     "--side", side, "--inputs", inputs] + (["--growth"] if turn == 0 else [])
            answer = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False)
            if answer.returncode != 0:
                sys.exit(f"{side} failed")
            results.append(json.loads(answer.stdout))
    report = {side: {key: statistics.median(result[key] for result in results) for key in results[0] if key != "growth_bytes"}
              | {"growth_bytes": results[0]["growth_bytes"]} for side, results in sides.items()}
    ratio = {key: report["temper"][key] / report["onnxruntime"][key] for key in ("load_seconds", "peak_bytes", "own_bytes")}
    if arguments.json:
        print(json.dumps(report | {"ratio": ratio}))
        return
    for side, facts in report.items():
        print(f"{side:>12}  load {facts['load_seconds'] * 1e3:.1f} ms, peak {facts['peak_bytes'] / 2**20:.1f} MiB "
              f"({facts['own_bytes'] / 2**20:.1f} by the model), {RUNS} runs more: {facts['growth_bytes'] / 2**20:+.2f} MiB")
    print(f"Temper / ONNX Runtime: load {ratio['load_seconds']:.2f}, peak {ratio['peak_bytes']:.2f}, "
          f"by the model {ratio['own_bytes']:.2f}")


if __name__ == "__main__":
    main()
