"""The tests that run by default keep the rules of the gate: one that needs a clock, a limit or a signal says so by a mark."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import ROOT

TESTS = ROOT / "tests"
# what a test names, alone or through what its file defines, and the marks of which it then has one
NEEDS = {
    r"process_time|monotonic\(\)|perf_counter|time\.time|sleep|took_less|ru_[us]time": {"clock"},
    r"setrlimit|RLIMIT_\w+|ulimit|ru_maxrss|VmHWM|tracemalloc|get_traced_memory": {"memory"},
    r"send_signal|SIG[A-Z]{2,}|os\.kill|pthread_kill|setitimer|\.kill\(\)": {"signals"},
    r"os\.fork|\[subprocess\.Popen\(.* range\((?!2\))|LocalCluster|dask_workers|multiprocessing\.\w|ProcessPoolExecutor": {
        "process"
    },
}
OUTSIDE = {"slow", "clock", "memory", "signals", "process", "soak"}


def marks_in(node: ast.AST) -> set[str]:
    """Return the marks that a decorator or a value of `pytestmark` names."""
    return set(re.findall(r"\bmark\.(\w+)", ast.unparse(node)))


def definitions(tree: ast.Module) -> dict[str, str]:
    """Return the source of each function, class and value that a module defines at its top."""
    found = {}
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found[node.name] = ast.unparse(node)
        elif isinstance(node, ast.Assign):
            found |= {name.id: ast.unparse(node) for name in node.targets if isinstance(name, ast.Name)}
    return found


def reached(name: str, defined: dict[str, str]) -> str:
    """Return the source of a definition and of all that it names, directly or not."""
    seen, waiting = {name}, [name]
    while waiting:
        for word in set(re.findall(r"\w+", defined[waiting.pop()])) & defined.keys() - seen:
            seen.add(word)
            waiting.append(word)
    return "\n".join(defined[one] for one in sorted(seen))


def broken_rules(path: Path) -> Iterator[str]:
    """Yield what the tests of a file need and do not say."""
    tree = ast.parse(path.read_text("utf-8"))
    defined = definitions(tree)
    of_all = marks_in(ast.parse(defined.get("pytestmark", "")))
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef) or not node.name.startswith("test_"):
            continue
        marks = of_all.union(*map(marks_in, node.decorator_list))
        if marks & OUTSIDE:
            continue
        source = reached(node.name, defined)
        for words, wanted in NEEDS.items():
            if found := re.search(words, source):
                yield f"{path.relative_to(TESTS)}::{node.name} has {found[0]}, and none of the marks {sorted(wanted)}"


@pytest.mark.parametrize("path", sorted(TESTS.rglob("test_*.py")), ids=lambda path: str(path.relative_to(TESTS)))
def test_what_a_test_needs_is_told_by_a_mark(path: Path) -> None:
    if path != Path(__file__):
        assert list(broken_rules(path)) == []
