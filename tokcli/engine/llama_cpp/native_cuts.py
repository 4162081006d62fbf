"""The native twin of `Cutter`: programs of a pre-tokenizer's patterns, as they match text whose characters stay.

`Cutter` replaces characters by their class, and its patterns match that text. A program's sets are of classes of
characters, so each character is put into the class of the one that replaces it, and nothing is replaced.
"""

from __future__ import annotations

from functools import lru_cache

from tokcli.engine.llama_cpp.characters import replaced_by
from tokcli.engine.llama_cpp.cutter import steps_of
from tokcli.engine.pretokenizers.program import seen_as
from tokcli.engine.pretokenizers.program_compiler import compile_program
from tokcli.engine.pretokenizers.row_image import row_image
from tokcli.engine.spec.splitters import WORD_ENDS, PatternsInTurn


@lru_cache(maxsize=8)
def native_cuts(splitter: PatternsInTurn) -> bytes:
    """Return the programs that cut text as `Cutter` does with the patterns, as an image that row_image.py opens."""
    steps = steps_of(splitter.patterns)
    programs = [(seen_as(compile_program(step.source), replaced_by(step.sees)), step.cuts) for step in steps]
    return row_image(programs, ends_words=splitter.word_ends == WORD_ENDS)
