#!/usr/bin/env python3
"""Measures what README.md says about whole models and about operators in plain NCHW, and writes it there.

For each model and number of threads: the untuned model's outputs against ONNX Runtime, its time beside ONNX Runtime and
OpenVINO in one interleaved run; the tuning (winners of another number of threads are proposed first, for all share one
database); the tuned outputs and times; what loading its bundle costs beside ONNX Runtime. Then every workload of suite `nchw`,
tuned and beside its peers; then the ONNX backend suite, models of unusual shapes, and 2,000 random graphs.

Each finished step is a file in build/figures and is not done again; a step of tuning that was stopped goes on with the
time that it had left. Remove the folder to begin anew.

  scripts/figures.py [--budget-scale 1] [--only NAME,...] [--threads 1,2] [--trials 300] [--folder build/figures]
"""
import argparse
import json
import math
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

import numpy
import onnxruntime

from figure_models import MODELS

ROOT = pathlib.Path(__file__).resolve().parent.parent
TEMPER = "build/release/bin/temper"
MODEL_PEERS = ("onnxruntime", "openvino")
OPERATOR_PEERS = ("onednn", "onnxruntime", "openvino")
LIMIT = 1e-4  # of the largest absolute output
COSINE_LIMIT = 0.99999
HEARTBEAT = 5  # seconds
RANDOM_GRAPHS = 2000
BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"


class Stopped(Exception):
    pass


class Programs:
    """Runs programs, one at a time; SIGINT and SIGTERM end it in good order, and then this script."""

    def __init__(self):
        self.child, self.stopped = None, False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self.stop)

    def stop(self, *_):
        self.stopped = True
        if self.child is not None:
            self.child.send_signal(signal.SIGINT)

    def temper(self, *words, accept=(0,), untuned=False, beat=lambda seconds: None):
        """The JSON that the command prints."""
        return json.loads(self.run(TEMPER, *words, "--json", accept=accept, beat=beat,
                                   TEMPER_TUNE="off" if untuned else "cached"))

    def run(self, *words, accept=(0,), beat=lambda seconds: None, **environment):
        """What a program prints. `beat` hears every few seconds how long it has been running."""
        if self.stopped:
            raise Stopped
        start = time.monotonic()
        # A session of its own: the terminal's Ctrl-C comes to this script alone, which passes it on.
        self.child = subprocess.Popen([*map(str, words)], stdout=subprocess.PIPE, text=True, env=os.environ | environment,
                                      start_new_session=True)
        while True:
            try:
                output, _ = self.child.communicate(timeout=HEARTBEAT)
                break
            except subprocess.TimeoutExpired:
                beat(time.monotonic() - start)
        beat(time.monotonic() - start)
        code, self.child = self.child.returncode, None
        if self.stopped:
            raise Stopped
        if code not in accept:
            sys.exit(f"error: exit code {code}: {' '.join(map(str, words))}\n{output}")
        return output


class Steps:
    """Finished steps, one file each."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def path(self, name):
        return self.folder / (name + ".json")

    def write(self, path, value):
        temporary = path.with_suffix(".new")
        temporary.write_text(json.dumps(value, indent=1))
        temporary.replace(path)

    def keep(self, name, measure):
        if not self.path(name).exists():
            print(f"== {name}", flush=True)
            self.write(self.path(name), measure())
        return json.loads(self.path(name).read_text())

    def seconds_spent(self, name):
        path = self.folder / (name + ".spent")
        return json.loads(path.read_text()) if path.exists() else 0.0

    def spend(self, name, seconds):
        self.write(self.folder / (name + ".spent"), seconds)


class Reference:
    """ONNX Runtime on a model as it stands: its own optimisations move the outputs of ch_PP-OCRv4_det_infer by more than
    the limit."""

    def __init__(self, model, threads):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        self.session = onnxruntime.InferenceSession(model.file, options, providers=["CPUExecutionProvider"])

    def run(self, inputs):
        return self.session.run(None, inputs)


def difference(ours, theirs):
    """Largest difference over the largest absolute value of the reference."""
    scale = float(numpy.abs(theirs).max()) or 1.0
    return float(numpy.abs(ours.astype(numpy.float64) - theirs).max()) / scale


def cosine(ours, theirs):
    """Smallest cosine of the angle between vectors along the last axis."""
    a, b = (side.astype(numpy.float64).reshape(-1, side.shape[-1]) for side in (ours, theirs))
    return float(((a * b).sum(axis=1) / (numpy.linalg.norm(a, axis=1) * numpy.linalg.norm(b, axis=1))).min())


def check(programs, model, threads, database, untuned):
    """Outputs, and what every step computes, against ONNX Runtime."""
    reference = Reference(model, threads)
    out = {"error": 0.0, "step_error": 0.0, "cosine": 1.0, "same_reading": True, "samples": len(model.samples)}
    for label in model.samples:
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            inputs = model.sample(label, pathlib.Path("build/pages"))
            given = []
            for i, (name, array) in enumerate(inputs.items()):
                numpy.save(folder / f"{i}.npy", array)
                given += ["--input", f"{name}={folder / f'{i}.npy'}"]
            # Exit code 1 says that a step differs from optimised ONNX Runtime's: noted, no limit here. Sigmoids of
            # numbers far below zero do, for they are tiny and ONNX Runtime's are only right to 1e-7.
            result = programs.temper("run", model.file, *model.shape_options(), *given, "--output-dir", folder, "--threads",
                                threads, "--db", database, "--check", "onnxruntime", "--every-step",
                                     accept=(0, 1), untuned=untuned)
            ours = [numpy.load(output["file"]) for output in result["outputs"]]
        theirs = reference.run(inputs)
        for a, b in zip(ours, theirs, strict=True):
            out["error"] = max(out["error"], difference(a, b))
            if model.by_cosine:
                out["cosine"] = min(out["cosine"], cosine(a, b))
        out["step_error"] = max(out["step_error"], float(result["check"]["max_step_error"]))
        if model.reading is not None:
            out["same_reading"] &= model.reading(ours) == model.reading(theirs)
    equal = out["cosine"] >= COSINE_LIMIT if model.by_cosine else out["error"] <= LIMIT
    out["equal"] = equal and out["same_reading"]
    return out


def tune(programs, steps, step, model, threads, database, seconds):
    spent = steps.seconds_spent(step)
    left = max(seconds - spent, 1)
    report = programs.temper("tune", model.file, *model.shape_options(), "--threads", threads, "--db", database, "--budget",
                             f"{left:.0f}s", "--no-peer", beat=lambda running: steps.spend(step, spent + running))
    return {key: report[key] for key in ("wall_seconds", "trials")} | {"seconds_in_all": steps.seconds_spent(step)}


def load(programs, model, threads, database):
    """What loading the tuned bundle costs beside ONNX Runtime's session."""
    with tempfile.TemporaryDirectory() as folder:
        bundle = pathlib.Path(folder, model.name + ".temper")
        programs.temper("build", model.file, *model.shape_options(), "--threads", threads, "--db", database, "-o", bundle)
        return json.loads(programs.run(sys.executable, "scripts/bench_load.py", model.file, bundle, "--threads", threads, "--json"))


def measure_models(programs, steps, options):
    database = steps.folder / "figures.db"
    for threads in options.threads:
        for model in MODELS:
            if options.only and model.name not in options.only:
                continue
            common = (*model.shape_options(), "--threads", threads, "--db", database)
            peers = [word for peer in MODEL_PEERS for word in ("--peer", peer)]
            for tuned in (False, True):
                name = f"{model.name}.{threads}.{'tuned' if tuned else 'untuned'}"
                if tuned:
                    step = f"{model.name}.{threads}.tune"
                    steps.keep(step, lambda: tune(programs, steps, step, model, threads, database,
                                                  model.seconds * options.budget_scale))
                steps.keep(name + ".check", lambda: check(programs, model, threads, database, not tuned))
                steps.keep(name + ".bench", lambda: programs.temper("bench", model.file, *common, *peers, untuned=not tuned))
            steps.keep(f"{model.name}.{threads}.load", lambda: load(programs, model, threads, database))


def measure_suite(programs, steps, options):
    database = steps.folder / "figures.db"
    suite = steps.keep("suite.list", lambda: programs.temper("bench", "--suite", "nchw", "--rounds", 5, "--db", database,
                                                             untuned=True))
    trials = max(1, round(options.trials * options.budget_scale))
    peers = [word for peer in OPERATOR_PEERS for word in ("--peer", peer)]
    for workload in suite["workloads"]:
        name = workload["name"]
        if options.only and name not in options.only:
            continue
        steps.keep(f"suite.{name}.tune", lambda: programs.temper("tune", "--op", workload["spec"], "--trials", trials,
                                                                 "--db", database))
        steps.keep(f"suite.{name}.bench", lambda: programs.temper("bench", "--suite", "nchw", "--only", name, "--db",
                                                                  database, *peers))


def conformance(programs):
    report = json.loads(programs.run("scripts/conformance.sh", "--json"))
    outcomes = ("passed", "failed", "crashed", "refused", "apart")
    return {outcome: report[outcome] for outcome in outcomes}


def tests(programs, program, cases, **environment):
    """Runs tests; one that fails ends this script. How many there were."""
    programs.run("scripts/build.sh", program)
    output = programs.run(f"build/release/bin/{program}", f"--gtest_filter={cases}", **environment)
    return {"passed": int(re.search(r"\[  PASSED  \] (\d+) test", output)[1])}


def measure_correctness(programs, steps):
    steps.keep("conformance", lambda: conformance(programs))
    steps.keep("unusual_shapes", lambda: tests(programs, "test_e2e", "Of/UnusualModels.*"))
    steps.keep("random_graphs", lambda: tests(programs, "test_graph", "RandomGraphs.*",
                                              RC_PARAMS=f"max_success={RANDOM_GRAPHS}"))


def time_text(seconds):
    return f"{seconds * 1e6:.1f} us" if seconds < 1e-3 else f"{seconds * 1e3:.3f} ms"


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def row(cells):
    return "| " + " | ".join(cells) + " |"


def read(steps, name):
    path = steps.path(name)
    return json.loads(path.read_text()) if path.exists() else None


def models_table(steps):
    lines = [row(["model", "threads", "untuned", "to ONNX Runtime", "to OpenVINO", "tuned", "to ONNX Runtime", "to OpenVINO",
                  "load", "peak memory", "largest difference"]), "|---" * 11 + "|"]
    for threads in (1, 2):
        columns = {}
        for model in MODELS:
            cells, errors = [model.name, str(threads)], []
            for state in ("untuned", "tuned"):
                bench = read(steps, f"{model.name}.{threads}.{state}.bench")
                checked = read(steps, f"{model.name}.{threads}.{state}.check")
                if bench is None or checked is None:
                    break
                workload = bench["workloads"][0]
                cells.append(time_text(workload["temper"]["quartile_seconds"]))
                for peer in workload["peers"]:
                    cells.append(f"{peer['ratio']:.2f}x")
                    columns.setdefault((state, peer["name"]), []).append(peer["ratio"])
                text = f"cosine {checked['cosine']:.7f}" if model.by_cosine else f"{checked['error']:.1e}"
                if checked["error"] == 0:  # outputs of zeros and ones say little
                    text += f" (of steps {checked['step_error']:.1e})"
                errors.append(text + ("" if checked["equal"] else " **not equal**"))
            else:
                cost = read(steps, f"{model.name}.{threads}.load")
                cells += [f"{cost['ratio'][key]:.2f}" if cost else "" for key in ("load_seconds", "peak_bytes")]
                lines.append(row([*cells, ", ".join(dict.fromkeys(errors))]))
        means = {key: f"{geometric_mean(values):.2f}x" for key, values in columns.items()}
        if means:
            by_state = [["", *(means.get((state, peer), "") for peer in MODEL_PEERS)] for state in ("untuned", "tuned")]
            lines.append(row(["geometric mean", str(threads), *by_state[0], *by_state[1], "", "", ""]))
    return lines


def suite_table(steps):
    suite = read(steps, "suite.list")
    lines, groups = [], {}
    for workload in suite["workloads"] if suite else []:
        bench = read(steps, f"suite.{workload['name']}.bench")
        if bench is None:
            continue
        measured = bench["workloads"][0]
        times = {peer["name"]: peer for peer in measured["peers"]}
        cells = [f"{time_text(times[p]['quartile_seconds'])}: {times[p]['ratio']:.2f}x" if p in times else "-"
                 for p in OPERATOR_PEERS]
        lines.append(row([workload["name"], time_text(measured["temper"]["quartile_seconds"]), *cells,
                          f"{measured['best_ratio']:.2f}"]))
        groups.setdefault(workload["name"].split("_")[0], []).append(measured["best_ratio"])
    if not lines:
        return []
    means = ", ".join(f"{name}_* {geometric_mean(values):.2f}" for name, values in groups.items())
    return ["", row(["plain NCHW, one thread", "Temper", "oneDNN", "ONNX Runtime", "OpenVINO", "to the fastest"]),
            "|---" * 6 + "|", *lines, "", f"Geometric means of the last column: {means}."]


def correctness_lines(steps):
    lines = []
    if (cases := read(steps, "conformance")) is not None:
        lines.append("ONNX backend suite: " + ", ".join(f"{count} {outcome}" for outcome, count in cases.items()) + ".")
    if (shapes := read(steps, "unusual_shapes")) is not None:
        lines.append(f"Models of unusual shapes, one and two threads, against ONNX Runtime: {shapes['passed']} equal.")
    if (graphs := read(steps, "random_graphs")) is not None:
        lines.append(f"{RANDOM_GRAPHS} random graphs through all passes, through each pass alone and as steps: all equal.")
    return ["", *lines] if lines else []


def report(steps, options):
    cpu = json.loads(subprocess.run([TEMPER, "target", "--json"], stdout=subprocess.PIPE, check=True).stdout)
    scale = "" if options.budget_scale == 1 else f", with {options.budget_scale:g} of the usual time for tuning"
    head = (f"Whole models on {cpu['cpu']} ({cpu['microarchitecture']}), `make figures`{scale}: lower quartiles, each side of a row in "
            "turn in one run; a ratio above 1 says that Temper is faster. Load and peak memory of the tuned bundle: parts of what ONNX "
            "Runtime takes.")
    return "\n".join([head, "", *models_table(steps), *suite_table(steps), *correctness_lines(steps)])


def write_readme(text):
    readme = ROOT / "README.md"
    content = readme.read_text()
    if content.count(BEGIN) != 1 or content.count(END) != 1:
        sys.exit(f"error: README.md does not hold one {BEGIN} and one {END}")
    pattern = re.escape(BEGIN) + ".*?" + re.escape(END)
    readme.write_text(re.sub(pattern, lambda _: f"{BEGIN}\n{text}\n{END}", content, flags=re.DOTALL))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget-scale", type=float, default=1, help="part of the usual time for tuning")
    parser.add_argument("--trials", type=int, default=300, help="of each workload of the suite")
    parser.add_argument("--only", default="", help="only these models and workloads; README.md stays as it is")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build/figures"))
    options = parser.parse_args()
    options.only = [name for name in options.only.split(",") if name]
    options.threads = [int(number) for number in options.threads.split(",")]
    os.chdir(ROOT)
    programs, steps = Programs(), Steps(options.folder)
    try:
        measure_models(programs, steps, options)
        if set(options.only) - {model.name for model in MODELS} or not options.only:
            measure_suite(programs, steps, options)
        if not options.only:
            measure_correctness(programs, steps)
    except Stopped:
        sys.exit(f"stopped; the same command goes on from {options.folder}")
    text = report(steps, options)
    print(text)
    if not options.only and options.budget_scale == 1:
        write_readme(text)
        print("== README.md holds it")


if __name__ == "__main__":
    main()
