#!/usr/bin/env python3
"""Shows that tuning and benchmarking tell the same time of the same record.

Each of 20 tasks is tuned into a database of its own; `temper bench` then times the record that won. Compared are the medians
that both give (of the rounds of the tuner's final, and of the benchmark's rounds) and the least times. What counts is the
median over the tasks of |ratio - 1|. What is in build/agreement is not measured again.

  scripts/bench_agreement.py [--trials 96] [--only gmm_512,softmax_1024] [--limit 0.03]
"""
import argparse
import json
import statistics
import sys

from search_runs import ROOT, ask

FOLDER = ROOT / "build/agreement"

TASKS = {
    "gmm_1024": "matmul(m=1024,n=1024,k=1024)",
    "gmm_512": "matmul(m=512,n=512,k=512)",
    "gmm_128": "matmul(m=128,n=128,k=128)",
    "gmm_64": "matmul(m=64,n=64,k=64)",
    "gmm_128x768x3072": "matmul(m=128,n=768,k=3072)",
    "gmm_128x768x768": "matmul(m=128,n=768,k=768)",
    "gmm_prime": "matmul(m=127,n=509,k=1021)",
    "gmm_matvec": "matmul(m=1,n=1000,k=2048)",
    "tbg_12": "matmul(batch=12,m=128,n=128,k=64,trans_b=1,const=none)",
    "c2d_56_3x3": "conv2d(ic=64,h=56,w=56,oc=64,kh=3,kw=3,pad=1,layout=nhwc)",
    "c2d_14_3x3": "conv2d(ic=256,h=14,w=14,oc=256,kh=3,kw=3,pad=1,layout=nhwc)",
    "c2d_7_3x3": "conv2d(ic=512,h=7,w=7,oc=512,kh=3,kw=3,pad=1,layout=nhwc)",
    "c2d_56_1x1": "conv2d(ic=64,h=56,w=56,oc=64,kh=1,kw=1,layout=nhwc)",
    "dep_112_s1": "conv2d(ic=32,h=112,w=112,oc=32,kh=3,kw=3,pad=1,groups=32,layout=nhwc)",
    "dep_112_s2": "conv2d(ic=64,h=112,w=112,oc=64,kh=3,kw=3,stride=2,pad=1,groups=64,layout=nhwc)",
    "dep_14_s2": "conv2d(ic=512,h=14,w=14,oc=512,kh=3,kw=3,stride=2,pad=1,groups=512,layout=nhwc)",
    "grp_56": "conv2d(ic=64,h=56,w=56,oc=128,kh=3,kw=3,stride=2,pad=1,groups=4,layout=nhwc)",
    "softmax_1024": "softmax(rows=1024,cols=1024)",
    "layernorm_128x768": "layernorm(rows=128,cols=768)",
    "attn_128": "attention(heads=12,queries=128,keys=128,depth=64)",
}


def measure(name, spec, trials):
    """Seconds that tuner and benchmark give, from the disk where they are there."""
    result = FOLDER / f"{name}.{trials}.json"
    if not result.exists():
        database = FOLDER / f"{name}.{trials}.db"
        for stale in FOLDER.glob(database.name + "*"):
            stale.unlink()
        task = ask("tune", "--op", spec, "--trials", trials, "--seed", 1, "--db", database)["tasks"][0]
        bench = ask("bench", "--op", spec, "--db", database)["workloads"][0]["temper"]
        result.write_text(json.dumps({
            "tune": {"median": task["best_median_seconds"], "min": task["best_seconds"]},
            "bench": {"median": bench["median_seconds"], "min": bench["min_seconds"]}}))
    return json.loads(result.read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=96)
    parser.add_argument("--only", default="", help="names of tasks, separated by commas")
    parser.add_argument("--limit", type=float, default=0.03, help="largest median of |ratio - 1|")
    arguments = parser.parse_args()
    names = [name for name in arguments.only.split(",") if name] or list(TASKS)
    unknown = [name for name in names if name not in TASKS]
    if unknown:
        sys.exit(f"no such task: {', '.join(unknown)}; there are {', '.join(TASKS)}")
    FOLDER.mkdir(parents=True, exist_ok=True)
    distances = {"median": [], "min": []}
    print(f"{'task':20} {'tune median':>12} {'bench median':>12} {'ratio':>7} {'tune min':>12} {'bench min':>12} {'ratio':>7}")
    for name in names:
        times = measure(name, TASKS[name], arguments.trials)
        row = f"{name:20}"
        for statistic, list_of in distances.items():
            tune, bench = times["tune"][statistic], times["bench"][statistic]
            list_of.append(abs(bench / tune - 1))
            row += f" {tune * 1e6:9.2f} us {bench * 1e6:9.2f} us {bench / tune:7.3f}"
        print(row, flush=True)
    for statistic, list_of in distances.items():
        print(f"{statistic}: |ratio - 1| has median {statistics.median(list_of):.3f}, largest {max(list_of):.3f}")
    return 0 if statistics.median(distances["median"]) <= arguments.limit else 1


if __name__ == "__main__":
    sys.exit(main())
