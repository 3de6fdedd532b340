#!/usr/bin/env python3
"""Shows how near a live search of few trials comes to what many trials find, and how soon.

For each workload one pool is measured: random candidates and a long run of the default strategy (a space that is smaller
than that is measured whole by the random run). Then the default strategy searches with several seeds. Printed are

  - the best of each seed's trials over the best of the pool. The winners of all runs are timed in turn, in six processes:
    the first three say which of the pool's is the best, the others give the figures (median and worst over the seeds);
  - the trials until a seed's run was within 1% of the best of 1,000 random trials, which are drawn for each seed from the
    pool's random ones (median and worst over the seeds; what the search itself measured counts, and the default schedule,
    which every run starts with, is no trial);
  - the same of random search itself, another draw from the pool, for comparison.

At last, workloads that TVM's MetaSchedule was timed on are tuned for a hundredth of its time for 200 trials and timed beside
oneDNN in one run: Temper's time over oneDNN's, and what MetaSchedule had.

Runs are kept in build/live_search, what is there is not measured again. Wants a machine with nothing else running.

  scripts/bench_live_search.py [--trials 200] [--seeds 10] [--pool 1500] [--strategy evolutionary] [--only gmm_512]
"""
import argparse
import random
import statistics
import sys

from search_runs import ROOT, Runs, ask, measured, median_of_words, microseconds, trials_until

WORKLOADS = {
    "gmm_512": "matmul(m=512,n=512,k=512)",
    "gmm_128x768x768": "matmul(m=128,n=768,k=768)",
    "c2d_56_3x3": "conv2d(ic=64,h=56,w=56,oc=64,kh=3,kw=3,pad=1,layout=nhwc)",
    "dep_112_s2": "conv2d(ic=64,h=112,w=112,oc=64,kh=3,kw=3,stride=2,pad=1,groups=64,layout=nhwc)",
    "softmax_1024": "softmax(rows=1024,cols=1024)",
}
RANDOM_TRIALS = 1000
NEAR = 1.01
POOL_SEED = 1000
# Time that MetaSchedule took for 200 trials, and what it had then over oneDNN; plain NCHW at both ends as there.
META_SCHEDULE = {
    "gmm_512": ("matmul(m=512,n=512,k=512)", 595, 1.055),
    "c2d_56_3x3": ("conv2d(ic=64,h=56,w=56,oc=64,kh=3,kw=3,pad=1,layout=nchw)", 280, 1.07),
}


def worst(words):
    return "never" if "never" in words else str(max(map(int, words)))


def row_of(name, spec, kept, arguments):
    """A row of the table."""
    pool = [kept.tune(name, spec, strategy, POOL_SEED, arguments.pool)[0] for strategy in ("random", arguments.strategy)]
    runs = [kept.tune(name, spec, arguments.strategy, seed, arguments.trials) for seed in range(arguments.seeds)]
    databases = [database for database, _ in runs]
    _, first = kept.times_of(spec, pool, range(3))
    best_of_pool = pool[first.index(min(first))]
    default, times = kept.times_of(spec, [best_of_pool, *databases], range(3, 6))
    ratios = [seconds / times[0] for seconds in times[1:]]
    drawn = measured(pool[0])
    until, random_until = [], []
    for seed, database in enumerate(databases):
        # At least as many as there are to draw: a space that is small is there whole.
        trials = random.Random(seed).sample(drawn, len(drawn))
        bound = NEAR * min(trials[:RANDOM_TRIALS])
        until.append(trials_until(measured(database), bound))
        again = random.Random(arguments.seeds + seed).sample(drawn, len(drawn))
        random_until.append(trials_until(again, bound))
    return [name, runs[0][1]["tasks"][0]["valid_candidates"], microseconds(default), microseconds(times[0]),
            f"{statistics.median(ratios):.3f}", f"{max(ratios):.3f}", median_of_words(until), worst(until),
            median_of_words(random_until)]


def meta_schedule(kept, arguments):
    print("\n| workload | seconds of tuning | Temper / oneDNN | MetaSchedule / oneDNN | its seconds |\n" + "|---" * 5 + "|", flush=True)
    for name, (spec, seconds, reached) in META_SCHEDULE.items():
        if name not in arguments.only:
            continue
        database = kept.folder / f"{name}.hundredth.db"
        for stale in kept.folder.glob(database.name + "*"):
            stale.unlink()
        report = ask("tune", "--op", spec, "--budget", f"{seconds / 100:.2f}s", "--db", database, "--no-peer")
        bench = ask("bench", "--op", spec, "--db", database, "--peer", "onednn")["workloads"][0]
        ratio = bench["temper"]["median_seconds"] / bench["peers"][0]["median_seconds"]
        print(f"| {name} | {report['wall_seconds']:.1f} | {ratio:.3f} | {reached} | {seconds} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--pool", type=int, default=1500, help="trials of the random and of the long run")
    parser.add_argument("--strategy", default="evolutionary")
    parser.add_argument("--only", default=",".join(WORKLOADS), help="names of workloads, separated by commas")
    arguments = parser.parse_args()
    arguments.only = arguments.only.split(",")
    unknown = [name for name in arguments.only if name not in WORKLOADS]
    if unknown:
        sys.exit(f"no such workload: {', '.join(unknown)}; there are {', '.join(WORKLOADS)}")
    kept = Runs(ROOT / "build/live_search")
    print("| workload | valid | default us | best of the pool us | search / pool: median | worst | trials to random's best: median "
          "| worst | random again |\n" + "|---" * 9 + "|", flush=True)
    for name in arguments.only:
        print("| " + " | ".join(map(str, row_of(name, WORKLOADS[name], kept, arguments))) + " |", flush=True)
    meta_schedule(kept, arguments)


if __name__ == "__main__":
    main()
