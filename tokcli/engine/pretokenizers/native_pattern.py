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
    """Return the native twin of a pattern; None where there is no native code, or the pattern is left to `regex`."""
    native = backend.native()
    program = None if native is None else program_of(pat_str)
    if native is None or program is None:
        return None
    made: _native.Pattern = native.Pattern(program.firsts, program.classes, program.sets, program.steps, program.start)
    return made


@lru_cache(maxsize=16)
def native_row(patterns: tuple[str, ...]) -> _native.Pattern | None:
    """Return the native twin of patterns that each cut the pieces of the one before; None where one has no twin.

    Each cuts out its matches, and leaves the text between two of them as a piece.
    """
    native = backend.native()
    made = [found for found in map(native_pattern, patterns) if found is not None]
    if native is None or not made or len(made) < len(patterns):
        return None
    row: _native.Pattern = native.Pattern.row(made)
    return row
