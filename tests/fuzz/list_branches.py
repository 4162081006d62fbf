"""Lists the branches of the native code that nothing took, from what `llvm-cov export` wrote of several programs.

    python tests/fuzz/list_branches.py NATIVE UNREACHED JSON...

NATIVE is the folder of the sources. UNREACHED has lines `FILE: CONDITION: never true` (or `never false`, or `never
evaluated`) under lines that begin with `#` and give the reason. Printed are the branches without a reason, with their
places, and last how many of all branches were taken. The exit status is 1 if there are any without a reason.
"""

from __future__ import annotations

import json
import sys
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple


class Condition(NamedTuple):
    """A condition in the sources: the file, and where the condition begins and ends; lines and columns count from 1."""

    file: str
    line: int
    column: int
    last_line: int
    last_column: int


class Outcomes(NamedTuple):
    """How often a condition was true and false, and how often its place was reached."""

    true: int = 0
    false: int = 0
    reached: int = 0

    def plus(self, other: Outcomes) -> Outcomes:
        """Return the sums of both."""
        return Outcomes(*(a + b for a, b in zip(self, other, strict=True)))

    @property
    def is_constant(self) -> bool:
        """Whether the compiler knew the outcome: it counts none."""
        return self.reached > 0 and not self.true and not self.false

    @property
    def missing(self) -> list[str]:
        """What never happened."""
        if not self.true and not self.false:
            return ["never evaluated"]
        return ["never true"] * (not self.true) + ["never false"] * (not self.false)


def outcomes_in(exported: dict[str, Any]) -> Iterator[tuple[Condition, Outcomes]]:
    """Yield the conditions of one program, those of templates once for each instance."""
    for file in exported["data"][0]["files"]:
        _, of_ours, name = file["filename"].rpartition("/native/")
        if not of_ours or "/nanobind/" in file["filename"]:
            continue
        places = [(line, column) for line, column, *_ in file["segments"]]
        for line, column, last_line, last_column, true, false, *_ in file["branches"]:
            before = bisect_right(places, (line, column)) - 1
            reached = file["segments"][before][2] if before >= 0 else 0
            yield Condition(name, line, column, last_line, last_column), Outcomes(true, false, reached)


def text_of(condition: Condition, native: Path) -> str:
    """Return a condition as it stands in the sources; its first line, if it has several."""
    line = (native / condition.file).read_text().splitlines()[condition.line - 1]
    end = condition.last_column - 1 if condition.last_line == condition.line else None
    return line[condition.column - 1 : end].strip()


def reasons_in(unreached: Path) -> set[str]:
    """Return the lines of the list of branches that have a reason."""
    lines = unreached.read_text().splitlines()
    return {line for line in lines if line and not line.startswith("#")}


def main(native: Path, unreached: Path, exports: list[Path]) -> int:
    """Print the branches without a reason, and the totals; return the exit status."""
    found: defaultdict[Condition, Outcomes] = defaultdict(Outcomes)
    for path in exports:
        for condition, outcomes in outcomes_in(json.loads(path.read_text())):
            found[condition] = found[condition].plus(outcomes)
    known, used, without = reasons_in(unreached), set(), 0
    conditions = {condition: outcomes for condition, outcomes in found.items() if not outcomes.is_constant}
    taken = sum((outcomes.true > 0) + (outcomes.false > 0) for outcomes in conditions.values())
    for condition, outcomes in sorted(conditions.items()):
        for what in outcomes.missing:
            line = f"{condition.file}: {text_of(condition, native)}: {what}"
            used.add(line)
            if line not in known:
                without += 1
                print(f"{condition.line}:{condition.column} {line}")
    total = 2 * len(conditions)
    print(f"{taken} of {total} branches taken, {100 * taken / total:.1f} %; {without} of the others have no reason")
    print(f"{len(known - used)} reasons for branches that were taken, or are gone")
    return int(without > 0)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), [Path(name) for name in sys.argv[3:]]))
