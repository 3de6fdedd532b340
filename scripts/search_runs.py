"""For the scripts that time searches: the command, asked for JSON, and runs of `temper tune` that are kept on the disk."""
import json
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TEMPER = ROOT / "build/release/bin/temper"
ROUNDS = 41


def ask(*words):
    """What the command prints; ends the script where it fails."""
    answer = subprocess.run([TEMPER, *map(str, words), "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            cwd=ROOT, check=False)
    if answer.returncode != 0:
        sys.exit(f"temper {' '.join(map(str, words))}\n{answer.stderr}")
    return json.loads(answer.stdout)


class Runs:
    """Databases and reports in one folder. What is there is not measured again."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def tune(self, name, spec, strategy, seed, trials):
        """The database and the tuner's report of one run, from the disk where it ran before."""
        database = self.folder / f"{name}.{strategy}.{seed}.{trials}.db"
        report = database.with_suffix(".json")
        if not report.exists():
            for stale in self.folder.glob(database.name + "*"):
                stale.unlink()
            result = ask("tune", "--op", spec, "--strategy", strategy, "--seed", seed, "--trials", trials, "--patience", 0,
                         "--db", database)
            report.write_text(json.dumps(result))
        return database, json.loads(report.read_text())

    def times_of(self, spec, databases, seeds):
        """Seconds of the default schedule and of each database's winner: medians over as many processes as seeds."""
        against = [word for database in databases for word in ("--against", database)]
        runs = [ask("bench", "--op", spec, "--db", self.folder / "none.db", "--rounds", ROUNDS, "--seed", seed,
                    *against)["workloads"][0] for seed in seeds]
        default = statistics.median(run["temper"]["median_seconds"] for run in runs)
        sides = zip(*([side["median_seconds"] for side in run["against"]] for run in runs), strict=True)
        return default, [statistics.median(side) for side in sides]


def microseconds(seconds):
    return f"{seconds * 1e6:.2f}"
