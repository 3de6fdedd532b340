#!/usr/bin/env python3
"""Checks what may include what, and what may name what.

1. A file of src/temper/ROOM reaches, through any chain of includes, only rooms that cmake/layers.cmake allows ROOM.
   A file of tests/ROOM obeys the same law, and a folder with a line TEMPER_TESTS_OF_folder in cmake/tests.cmake that of the
   room named there; the other folders of tests/ hold no code of one room and may use all.
2. The headers of a third-party library are included only in the places listed in THIRD_PARTY, and in tests of the whole tool.
3. No file of nest, lower or codegen names an operator, in code or in comments.

  scripts/check_layers.py              check the tree
  scripts/check_layers.py --self-test  break each rule once in a made-up tree and see that it is noticed
"""
import pathlib
import re
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCE_SUFFIXES = {".h", ".hpp", ".c", ".cc", ".cpp"}

# Start of an included path -> places (below src/temper) whose files may include it.
THIRD_PARTY = {
    "llvm/": ["codegen/llvm"],
    "llvm-c/": ["codegen/llvm"],
    "lld/": ["codegen/llvm"],
    "xgboost/": ["cost"],
    "sqlite3.h": ["store"],
    "Eigen/": ["search", "cost"],
    "spdlog/": ["support"],
    "hwloc": ["target"],
    "CLI/": ["app"],
    "onnx/": ["graph"],
    "zlib.h": ["space/recorded"],
}

# Whole words that name an operator. An identifier is cut into words at underscores, digits and changes of case first.
OPERATORS = {
    "attention", "avgpool", "batchnorm", "conv", "convolution", "depthwise", "gelu", "gemm", "gemv", "hardswish",
    "im2col", "layernorm", "logsoftmax", "lstm", "matmul", "maxpool", "pooling", "relu", "softmax", "winograd",
}
OPERATOR_PAIRS = {("batch", "norm"), ("layer", "norm"), ("average", "pool"), ("max", "pool"), ("mat", "mul"),
                  ("hard", "swish"), ("soft", "max"), ("squeeze", "excite")}
OPERATOR_FREE = ["nest", "lower", "codegen"]

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^">]+)[">]', re.MULTILINE)
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def read_layers(text):
    """Room -> every room it may use, itself included."""
    direct = {}
    for room, uses in re.findall(r'^\s*"(\w+):([\w,]*)"', text, re.MULTILINE):
        direct[room] = [use for use in uses.split(",") if use]
        for use in direct[room]:
            if use not in direct:
                raise ValueError(f"cmake/layers.cmake: {room} uses {use}, which is not listed above it")
    allowed = {}
    for room, uses in direct.items():  # a used room stands above, so it is complete
        allowed[room] = {room}.union(*(allowed[use] for use in uses))
    return allowed


def read_test_rooms(text):
    """Folder of tests/ -> the room whose law it obeys, for folders that are no room."""
    return dict(re.findall(r"set\(TEMPER_TESTS_OF_(\w+) (\w+)\)", text))


class Tree:
    def __init__(self, root):
        self.root = root
        self.layers = read_layers((root / "cmake/layers.cmake").read_text())
        self.test_rooms = read_test_rooms((root / "cmake/tests.cmake").read_text())
        self.texts = {}
        self.includes = {}
        for folder in ("src/temper", "tests", "include"):
            for path in sorted((root / folder).rglob("*")):
                if path.suffix in SOURCE_SUFFIXES and path.is_file():
                    name = path.relative_to(root).as_posix()
                    self.texts[name] = path.read_text(errors="replace")
                    self.includes[name] = INCLUDE.findall(self.texts[name])

    def resolve(self, includer, included):
        """The file of the project that an include means, or None for a library's or a generated one."""
        candidates = ["src/" + included, "include/" + included, "tests/" + included,
                      (pathlib.PurePosixPath(includer).parent / included).as_posix()]
        return next((name for name in candidates if name in self.texts), None)

    def room_of(self, name):
        parts = name.split("/")
        return parts[2] if name.startswith("src/temper/") and len(parts) > 3 else None

    def is_of_no_room(self, name):
        """Whether this is a test of the whole tool."""
        parts = name.split("/")
        return parts[0] == "tests" and len(parts) > 2 and self.test_rooms.get(parts[1], parts[1]) not in self.layers

    def law_for(self, name):
        """The rooms that a file may reach; None when it may reach all."""
        room = self.room_of(name)
        if room is not None:
            return self.layers.get(room, set())
        parts = name.split("/")
        if parts[0] == "tests" and len(parts) > 2:
            return self.layers.get(self.test_rooms.get(parts[1], parts[1]))
        return None

    def reachable(self, name):
        """(file or bare include, chain of files that leads there), nearest first."""
        seen, queue = {name}, [(name, [name])]
        while queue:
            current, chain = queue.pop(0)
            for included in self.includes[current]:
                target = self.resolve(current, included)
                key = target or included
                if key in seen:
                    continue
                seen.add(key)
                yield key, chain
                if target:
                    queue.append((target, chain + [target]))


def check_rooms(tree):
    for name in tree.texts:
        room = tree.room_of(name)
        if room is not None and room not in tree.layers:
            yield f"{name}: the room '{room}' is not in cmake/layers.cmake"
            continue
        law = tree.law_for(name)
        if law is None:
            continue
        reported = set()  # one chain is enough for each room
        for target, chain in tree.reachable(name):
            reached = tree.room_of(target)
            if reached is None and target.startswith("temper/") and target.count("/") >= 2:
                reached = target.split("/")[1]  # a generated header
            if reached is not None and reached not in law and reached not in reported:
                reported.add(reached)
                via = " -> ".join(chain[1:] + [target])
                yield f"{name}: may not include room '{reached}' ({via}); cmake/layers.cmake is the law"


def check_third_party(tree):
    for name, included in ((n, i) for n in tree.texts for i in tree.includes[n]):
        if tree.resolve(name, included) or tree.is_of_no_room(name):
            continue
        for prefix, places in THIRD_PARTY.items():
            if included.startswith(prefix):
                tested = name.removeprefix("src/temper/").removeprefix("tests/")
                if name.startswith("include/") or not any(tested.startswith(place + "/") for place in places):
                    yield f"{name}: <{included}> may be included only in {', '.join(places)}"


def operator_words(line):
    for identifier in re.findall(r"[A-Za-z0-9_]+", line):
        lowered = [word.lower() for word in WORD.findall(identifier)]
        for word in [identifier.lower()] + lowered:
            if word in OPERATORS:
                yield identifier
                break
        else:
            if any(pair in OPERATOR_PAIRS for pair in zip(lowered, lowered[1:])):
                yield identifier


def check_operators(tree):
    for name, text in tree.texts.items():
        if tree.room_of(name) not in OPERATOR_FREE:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            for word in operator_words(line):
                yield f"{name}:{number}: names an operator: '{word}'"


RULES = [check_rooms, check_third_party, check_operators]


def self_test():
    layers = 'set(TEMPER_LAYERS\n  "support:"\n  "ir:support"\n  "nest:ir"\n  "codegen:nest"\n  "ops:ir"\n)\n'
    good = {
        "cmake/layers.cmake": layers,
        "cmake/tests.cmake": "set(TEMPER_WHOLE_TOOL_TESTS e2e)\nset(TEMPER_TESTS_OF_fuzz nest)\n",
        "src/temper/support/error.h": "#include <string>\n",
        "src/temper/ir/expr.h": '#include "temper/support/error.h"\n',
        "src/temper/ops/conv2d.h": '#include "temper/ir/expr.h"\n',
        "src/temper/nest/boxes.cpp": '#include "temper/ir/expr.h"\nint max_pooled_threads; // reduce, pool of threads\n',
        "src/temper/codegen/llvm/emit.cpp": "#include <llvm/IR/Module.h>\n",
        "tests/nest/boxes_test.cpp": '#include "temper/support/error.h"\n',
        "tests/e2e/all_test.cpp": '#include "temper/ops/conv2d.h"\n#include <sqlite3.h>\n',
        "tests/fuzz/fuzz_test.cpp": '#include "temper/ir/expr.h"\n',
        "include/temper/temper.h": '#include "temper/ops/conv2d.h"\n',
    }
    # What is changed -> words of the finding that must follow.
    broken = [
        ({"src/temper/ir/expr.h": '#include "temper/ops/conv2d.h"\n'}, "ir/expr.h: may not include room 'ops'"),
        ({"src/temper/nest/boxes.cpp": '#include "temper/temper.h"\n'}, "nest/boxes.cpp: may not include room 'ops'"),
        ({"tests/nest/boxes_test.cpp": '#include "temper/ops/conv2d.h"\n'}, "tests/nest/boxes_test.cpp: may not"),
        ({"tests/fuzz/fuzz_test.cpp": '#include "temper/ops/conv2d.h"\n'}, "fuzz_test.cpp: may not include room 'ops'"),
        ({"src/temper/nest/boxes.cpp": '#include "temper/codegen/gen.pb.h"\n'}, "may not include room 'codegen'"),
        ({"src/temper/attic/old.h": ""}, "the room 'attic' is not in"),
        ({"src/temper/codegen/emit.cpp": "#include <llvm/IR/Module.h>\n"}, "<llvm/IR/Module.h> may be included only in"),
        ({"tests/nest/boxes_test.cpp": "#include <sqlite3.h>\n"}, "<sqlite3.h> may be included only in store"),
        ({"include/temper/temper.h": '#include "llvm/IR/Module.h"\n'}, "may be included only in codegen/llvm"),
        ({"src/temper/nest/boxes.cpp": "int conv2d_tile;\n"}, "boxes.cpp:1: names an operator: 'conv2d_tile'"),
        ({"src/temper/nest/boxes.cpp": "\nclass MatMulRule;\n"}, "boxes.cpp:2: names an operator: 'MatMulRule'"),
        ({"src/temper/nest/boxes.cpp": "int layer_norm;\n"}, "names an operator: 'layer_norm'"),
        ({"src/temper/codegen/llvm/emit.cpp": "// as in softmax\n"}, "names an operator: 'softmax'"),
    ]

    def findings(files):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            tree = Tree(root)
            return [finding for rule in RULES for finding in rule(tree)]

    failures = [f"the good tree has findings: {f}" for f in findings(good)]
    for change, expected in broken:
        found = findings({**good, **change})
        if not any(expected in finding for finding in found):
            failures.append(f"{change} must give '{expected}', gave {found}")
    try:
        read_layers('"ir:support"\n')
        failures.append("a use of an unlisted room must be refused")
    except ValueError:
        pass
    for failure in failures:
        print("self-test: " + failure)
    print(f"== layers: self-test, {len(broken) + 2} cases, {len(failures)} failed")
    return 1 if failures else 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if sys.argv[1:]:
        sys.exit(__doc__)
    tree = Tree(ROOT)
    found = [finding for rule in RULES for finding in rule(tree)]
    for finding in found:
        print(finding)
    print(f"== layers: {len(tree.texts)} files, {len(tree.layers)} rooms, {len(found)} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
