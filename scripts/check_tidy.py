#!/usr/bin/env python3
"""Runs clang-tidy over the project's sources, skipping files that have passed unchanged.

The compile commands come from BUILD/compile_commands.json. A file is skipped when the hash of its preprocessed text,
its flags, the exceptions in headers, .clang-tidy and the version of clang-tidy is in temper/tidy of the user's cache
(XDG_CACHE_HOME, else ~/.cache), whichever clone it passed in. Exit code 1 when a file has findings.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TIDY = "clang-tidy-19"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build/release", help="folder with compile_commands.json")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("files", nargs="*", help="only these files; default: all of src/")
    return parser.parse_args()


def preprocess_command(entry):
    """The entry's command without launcher and output, turned into `preprocess to standard output`."""
    words = shlex.split(entry["command"])
    while words and pathlib.Path(words[0]).name in ("ccache", "sccache"):
        words = words[1:]
    kept = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word == "-o":
            skip = True
        elif word != "-c":
            kept.append(word)
    return kept + ["-E", "-P"]


def fingerprint(entry, salt):
    text = subprocess.run(preprocess_command(entry), cwd=entry["directory"], capture_output=True, check=False)
    if text.returncode != 0:
        return None
    digest = hashlib.sha256(salt)
    digest.update(entry["command"].replace(str(ROOT), "").encode())
    digest.update(text.stdout.replace(str(ROOT).encode(), b""))
    # Comments are gone from the preprocessed text, but NOLINT lives in them (those of headers are in `salt`).
    digest.update(pathlib.Path(entry["file"]).read_bytes())
    return digest.hexdigest()


def header_exceptions():
    """The lines of all headers that switch a check off."""
    headers = sorted(path for folder in ("include", "src") for path in (ROOT / folder).rglob("*.h"))
    return b"\n".join(
        f"{path.relative_to(ROOT)}:{number}:".encode() + line
        for path in headers
        for number, line in enumerate(path.read_bytes().splitlines())
        if b"NOLINT" in line)


def stamp_folder():
    cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    folder = pathlib.Path(cache) / "temper" / "tidy"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def lint(entry, build, stamps, salt):
    key = fingerprint(entry, salt)
    if key and (stamps / key).exists():
        return entry["file"], None, ""
    command = [TIDY, "--quiet", "--warnings-as-errors=*", "-p", str(build), entry["file"]]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if result.returncode == 0 and key:
        (stamps / key).touch()
    errors = [line for line in result.stderr.splitlines() if not line.endswith("warnings generated.")]
    return entry["file"], result.returncode, result.stdout + "\n".join(errors)


def main():
    arguments = parse_arguments()
    build = (ROOT / arguments.build).resolve()
    entries = json.loads((build / "compile_commands.json").read_text())
    only = {str((pathlib.Path.cwd() / name).resolve()) for name in arguments.files}
    source = str(ROOT / "src") + "/"
    entries = [e for e in entries if e["file"].startswith(source) and (not only or e["file"] in only)]
    if not entries:
        sys.exit("error: no source file matches " + build.name + "/compile_commands.json")
    stamps = stamp_folder()
    version = subprocess.run([TIDY, "--version"], capture_output=True, check=True).stdout
    salt = version + (ROOT / ".clang-tidy").read_bytes() + header_exceptions()
    start = time.monotonic()
    failed, skipped = [], 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for file, code, output in pool.map(lambda e: lint(e, build, stamps, salt), entries):
            if code is None:
                skipped += 1
            elif code != 0:
                failed.append(file)
                print(output, flush=True)
    print(f"== tidy: {len(entries)} files, {skipped} unchanged since they passed, {len(failed)} with findings, "
          f"{time.monotonic() - start:.0f} s")
    for file in failed:
        print("   " + str(pathlib.Path(file).relative_to(ROOT)))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
