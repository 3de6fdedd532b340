#!/usr/bin/env python3
"""Tunes one operator for many trials and fails if the tuner's memory grows: after the first tenth of the trials it must stay
within a tenth of what it was then. Prints trials, seconds and MiB as it goes.

  scripts/check_memory.py [--trials 5000] [--op "matmul(m=64,n=64,k=64)"]
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TEMPER = ROOT / "build/release/bin/temper"
GROWTH = 1.1
ROWS = 10


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=5000)
    parser.add_argument("--op", default="matmul(m=64,n=64,k=64)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        events = pathlib.Path(folder, "events.jsonl")
        subprocess.run([TEMPER, "tune", "--op", arguments.op, "--trials", str(arguments.trials), "--db",
                        pathlib.Path(folder, "memory.db"), "--json-events", events], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=True)
        told = [json.loads(line) for line in events.read_text().splitlines()]
    batches = [event for event in told if event["event"] == "batch"]
    if not batches or batches[-1]["trials"] < 0.9 * arguments.trials:
        sys.exit("error: the run ended before its trials were used up")
    first = next(event for event in batches if event["trials"] >= 0.1 * arguments.trials)
    later = [event for event in batches if event["trials"] >= first["trials"]]
    for event in later[::max(1, len(later) // ROWS)]:
        print(f"{event['trials']:6} trials {event['elapsed_seconds']:7.1f} s {event['resident_bytes'] / 2**20:7.1f} MiB")
    grown = max(event["resident_bytes"] for event in later) / first["resident_bytes"]
    print(f"at most {grown:.3f} times what it was after {first['trials']} trials")
    if grown > GROWTH:
        sys.exit(f"error: more than {GROWTH} times")


if __name__ == "__main__":
    main()
