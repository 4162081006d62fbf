"""The native twin of matching: a pattern's program, or several in a row, run by native matchers (native/patterns/)."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from tokcli.engine import backend
from tokcli.engine.pretokenizers.program_compiler import program_of

if TYPE_CHECKING:
    from tokcli.engine import _native


@lru_cache(maxsize=64)
def native_pattern(pat_str: str) -> _native.Pattern | None:
    """Return the native matcher that runs a pattern's program; None without native code, and without a program."""
    program = program_of(pat_str) if backend.is_native() else None
    if program is None:
        return None
    tables = program.firsts, program.classes, program.sets, program.steps
    made: _native.Pattern = backend.code().Pattern(*tables, program.start)
    return made


@lru_cache(maxsize=16)
def native_row(patterns: tuple[str, ...]) -> _native.Pattern | None:
    """Return the native matcher of patterns that each cut the pieces of the one before; None where one has none.

    Each cuts out its matches, and leaves the text between two of them as a piece.
    """
    made = [found for found in map(native_pattern, patterns) if found is not None]
    if not made or len(made) < len(patterns):
        return None
    row: _native.Pattern = backend.code().Pattern.row(made)
    return row
