#!/usr/bin/env python3
"""Shows how near a live search of few trials comes to what many trials find, and how soon.

For each workload one pool is measured: random candidates and a long run of the default strategy (a space that is smaller
than that is measured whole by the random run). Then the default strategy searches with several seeds. Trials of different
runs cannot be compared by what they recorded, for the clock is not the same an hour later; so winners are timed again, all in turn in six
processes: the first three say which of the pool's is the best, the others give the figures. Winners are

  - of each search: its best over the pool's best;
  - of searches whose whole budget is 30 or 60 trials, over the best of 1,000 random trials, which are drawn for each seed
    from the pool's random ones (the default schedule, which every run starts with, may be the best of either);
  - of as many of those random trials, for comparison.

At last, workloads that TVM's MetaSchedule was timed on are tuned for a hundredth of its time for 200 trials and timed beside
oneDNN in one run: Temper's time over oneDNN's, and what MetaSchedule had.

Runs are kept in build/live_search, what is there is not measured again. Wants a machine with nothing else running.

  scripts/bench_live_search.py [--trials 200] [--seeds 10] [--pool 1500] [--strategy evolutionary] [--only gmm_512]
"""
import argparse
import json
import pathlib
import random
import statistics
import sys
import tempfile

from search_runs import ROOT, Runs, ask, microseconds

WORKLOADS = {
    "gmm_512": "matmul(m=512,n=512,k=512)",
    "gmm_128x768x768": "matmul(m=128,n=768,k=768)",
    "c2d_56_3x3": "conv2d(ic=64,h=56,w=56,oc=64,kh=3,kw=3,pad=1,layout=nhwc)",
    "dep_112_s2": "conv2d(ic=64,h=112,w=112,oc=64,kh=3,kw=3,stride=2,pad=1,groups=64,layout=nhwc)",
    "softmax_1024": "softmax(rows=1024,cols=1024)",
}
RANDOM_TRIALS = 1000
SHORT = (30, 60)
POOL_SEED = 1000
# Time that MetaSchedule took for 200 trials, and what it had then over oneDNN; plain NCHW at both ends as there.
META_SCHEDULE = {
    "gmm_512": ("matmul(m=512,n=512,k=512)", 595, 1.055),
    "c2d_56_3x3": ("conv2d(ic=64,h=56,w=56,oc=64,kh=3,kw=3,pad=1,layout=nchw)", 280, 1.07),
}


def records_of(database, folder):
    """The default schedule's record and those of the trials, as lines of the exchange format."""
    exported = folder / f"{database.stem}.jsonl"
    ask("db", "export", exported, "--db", database)
    lines = exported.read_text().splitlines()
    is_default = [json.loads(line)["strategy"] == "default" for line in lines]
    return ([line for line, default in zip(lines, is_default, strict=True) if default],
            [line for line, default in zip(lines, is_default, strict=True) if not default])


def part_of(folder, name, lines):
    """A database of these records."""
    part, exchanged = folder / f"{name}.db", folder / f"{name}.jsonl"
    exchanged.write_text("".join(line + "\n" for line in lines))
    ask("db", "import", exchanged, "--db", part)
    return part


def row_of(name, spec, kept, folder, arguments):
    """A row of the table; parts of runs are put into `folder`."""
    pool = [kept.tune(name, spec, strategy, POOL_SEED, arguments.pool)[0] for strategy in ("random", arguments.strategy)]
    runs = [kept.tune(name, spec, arguments.strategy, seed, arguments.trials) for seed in range(arguments.seeds)]
    sides = {("pool", i): database for i, database in enumerate(pool)}
    default, random_trials = records_of(pool[0], folder)
    for seed, (database, _) in enumerate(runs):
        # A space that is small is there whole.
        drawn = random.Random(seed).sample(random_trials, min(len(random_trials), RANDOM_TRIALS))
        sides["search", seed] = database
        sides["random", seed] = part_of(folder, f"random.{seed}", default + drawn)
        for count in SHORT:
            sides[count, seed] = kept.tune(name, spec, arguments.strategy, seed, count)[0]
            sides["random", count, seed] = part_of(folder, f"random.{seed}.{count}", default + drawn[:count])
    _, first = kept.times_of(spec, pool, range(3))
    default_seconds, times = kept.times_of(spec, sides.values(), range(3, 6))
    time = dict(zip(sides, times, strict=True))
    best = time["pool", first.index(min(first))]
    seeds = range(arguments.seeds)
    to_pool = [time["search", seed] / best for seed in seeds]
    to_random = [statistics.median(time[(*key, seed)] / time["random", seed] for seed in seeds)
                 for count in SHORT for key in ((count,), ("random", count))]
    return [name, runs[0][1]["tasks"][0]["valid_candidates"], microseconds(default_seconds), microseconds(best),
            *(f"{ratio:.3f}" for ratio in (statistics.median(to_pool), max(to_pool), *to_random))]


def meta_schedule(kept, arguments):
    print("\n| workload | seconds of tuning | Temper / oneDNN | MetaSchedule / oneDNN | its seconds |\n" + "|---" * 5 + "|", flush=True)
    for name, (spec, seconds, reached) in META_SCHEDULE.items():
        if name not in arguments.only:
            continue
        database = kept.folder / f"{name}.hundredth.db"
        for stale in kept.folder.glob(database.name + "*"):
            stale.unlink()
        report = ask("tune", "--op", spec, "--budget", f"{seconds / 100:.2f}s", "--db", database)
        bench = ask("bench", "--op", spec, "--db", database, "--peer", "onednn")["workloads"][0]
        ratio = 1 / bench["best_ratio"]
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
    firsts = "".join(f" | {count} trials / random's {RANDOM_TRIALS} | {count} random ones" for count in SHORT)
    print(f"| workload | valid | default us | best of the pool us | search / pool: median | worst{firsts} |\n" + "|---" * 10 + "|",
          flush=True)
    for name in arguments.only:
        with tempfile.TemporaryDirectory() as folder:
            row = row_of(name, WORKLOADS[name], kept, pathlib.Path(folder), arguments)
        print("| " + " | ".join(map(str, row)) + " |", flush=True)
    meta_schedule(kept, arguments)


if __name__ == "__main__":
    main()
