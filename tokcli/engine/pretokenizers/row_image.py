"""Programs of patterns in a row as bytes, which a native matcher opens: nothing of them has to be compiled again.

    u32 number of programs, ends_words | each: u32 cuts, start, numbers of firsts, of sets, of steps | its four arrays

`cuts` says where the matches cut (see program.py), and each array is padded to whole numbers. The numbers are those of
the machine, as in native images. Native code checks the programs when it opens them.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tokcli.engine import backend

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from tokcli.engine import _native
    from tokcli.engine.pretokenizers.program import Program

_WORD = array("I").itemsize
_SET_WORDS, _STEP_WORDS = 8, 4


def row_image(row: Sequence[tuple[Program, int]], *, ends_words: bool) -> bytes:
    """Return programs, each with where its matches cut (see program.py), as bytes.

    With `ends_words`, a piece ends wherever a letter or digit of ASCII is before a space or newline.
    """
    parts = [array("I", [len(row), ends_words]).tobytes()]
    for program, cuts in row:
        sets, steps = len(program.sets) // _WORD // _SET_WORDS, len(program.steps) // _STEP_WORDS
        parts.append(array("I", [cuts, program.start, len(program.firsts), sets, steps]).tobytes())
        classes = program.classes + b"\0" * (-len(program.classes) % _WORD)
        parts += [program.firsts.tobytes(), classes, program.sets, program.steps.tobytes()]
    return b"".join(parts)


def row_in(image: Buffer) -> _native.Pattern | None:
    """Return the native matcher of the programs in an image; None for an empty one, ValueError where there are none."""
    data = memoryview(image).cast("B")
    if not data.nbytes:
        return None
    if data.nbytes % _WORD or data.nbytes < 2 * _WORD:
        raise ValueError("not programs")
    numbers, at = data.cast("I"), 2
    patterns, ways = [], bytearray()
    for _ in range(numbers[0]):
        cuts, start, runs, sets, steps = numbers[at : at + 5]
        at += 5
        tables = []
        for words in (runs, -(-runs // _WORD), sets * _SET_WORDS, steps * _STEP_WORDS):
            tables.append(numbers[at : at + words])
            at += words
        classes = tables[1].cast("B")[:runs]
        patterns.append(backend.code().Pattern(tables[0], classes, tables[2].cast("B"), tables[3], start))
        ways.append(cuts)
    row: _native.Pattern = backend.code().Pattern.row(patterns, bytes(ways), bool(numbers[1]))
    return row
