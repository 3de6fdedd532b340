#!/usr/bin/env python3
"""Shows what the search is worth: every workload of suite `native`, several seeds, a strategy against random candidates.

For each workload: the number of valid candidates; the default schedule; the median of all random candidates that were
measured; the best of the strategy and of random search after as many trials (medians over the seeds); the best known
kernel (of all these runs and of build/bench.db). The winners of all databases are timed in turn, in six processes: the first
three say which is the best known, the others give the figures, so that the best known is not merely the luckiest of them;
medians of three, for where the system puts a process's memory moves single figures by 2 to 3%. The last
columns say how many trials it took until a candidate was within 2% of what runs reach (the median over all runs of their fastest;
medians over the seeds; the default schedule, which every run starts with, is left out). Databases are kept in build/search, what is there is
not measured again.

  scripts/bench_search.py [--trials 300] [--seeds 5] [--strategy evolutionary] [--only gmm_512,c2d_7_3x3]
"""
import argparse
import json
import math
import statistics

from search_runs import ROOT, Runs, ask, microseconds

NOISE = 0.005  # of medians of search_runs.ROUNDS samples each


def measured(database):
    """Seconds of every candidate in the order of trials, infinite where it failed; the default left out."""
    lines = database.with_suffix(".jsonl")
    ask("db", "export", lines, "--db", database)
    records = [json.loads(line) for line in lines.read_text().splitlines()]
    lines.unlink()
    return [r["min_seconds"] if r["failure"] == "none" else math.inf for r in records if r["strategy"] != "default"]


def trials_until(times, bound):
    return next((str(i + 1) for i, seconds in enumerate(times) if seconds <= bound), "never")


def median_of_words(words):
    """The median of numbers of trials, where `never` is more than any."""
    return sorted(words, key=lambda word: math.inf if word == "never" else int(word))[len(words) // 2]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--strategy", default="evolutionary")
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    kept = Runs(ROOT / "build/search")
    suite = ask("bench", "--suite", "native", "--rounds", 5, "--db", kept.folder / "none.db")["workloads"]
    chosen = [w for w in suite if not arguments.only or w["name"] in arguments.only.split(",")]
    print("| workload | valid | default us | median random us | random us | search us | best known us | search / best known "
          "| trials to 2%: random | search |")
    print("|---" * 10 + "|", flush=True)
    behind = []
    for workload in chosen:
        name, spec = workload["name"], workload["spec"]
        runs = {strategy: [kept.tune(name, spec, strategy, seed, arguments.trials) for seed in range(arguments.seeds)]
                for strategy in ("random", arguments.strategy)}
        databases = [database for strategy in runs.values() for database, _ in strategy]
        best_known = ROOT / "build/bench.db"
        databases += [best_known] if best_known.exists() else []
        _, first = kept.times_of(spec, databases, range(3))
        default, seconds = kept.times_of(spec, databases, range(3, 6))
        best = first.index(min(first))
        random_best = statistics.median(seconds[:arguments.seeds])
        search_best = statistics.median(seconds[arguments.seeds:2 * arguments.seeds])
        known = seconds[best]
        trials_of = {strategy: [measured(database) for database, _ in run] for strategy, run in runs.items()}
        pool = [seconds for trials in trials_of["random"] for seconds in trials if seconds < math.inf]
        bound = 1.02 * statistics.median(min(trials) for run in trials_of.values() for trials in run)
        until = {strategy: median_of_words([trials_until(trials, bound) for trials in run])
                 for strategy, run in trials_of.items()}
        valid = runs["random"][0][1]["tasks"][0]["valid_candidates"]
        print(f"| {name} | {valid} | {microseconds(default)} "
              f"| {microseconds(statistics.median(pool))} | {microseconds(random_best)} | {microseconds(search_best)} "
              f"| {microseconds(known)} | {search_best / known:.3f} "
              f"| {until['random']} | {until[arguments.strategy]} |", flush=True)
        if search_best > 1.03 * known or search_best > (1 + NOISE) * random_best:
            behind.append(name)
    if behind:
        print(f"more than 3% behind the best known, or more than {NOISE:.1%} behind random search: " + ", ".join(behind))


if __name__ == "__main__":
    main()
