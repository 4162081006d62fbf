"""The pre-tokenizers of a tokenizer.json, which cut normalized text into the pieces that the model sees one by one.

A function for each kind of step cuts one piece. A pat_str, the only pre-tokenizer of tiktoken's encodings, is left to
`pretokenizers/`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

from tokcli.engine.bpe.byte_alphabet import to_byte_chars
from tokcli.engine.pipeline.aligned import Aligned, Span
from tokcli.engine.pipeline.finders import BEHAVIORS, compiled, find, matches
from tokcli.engine.pipeline.normalizers import byte_changes
from tokcli.engine.pretokenizers.known_patterns import GPT2
from tokcli.engine.spec import splitters as spec
from tokcli.engine.spec.patterns import LiteralText
from tokcli.engine.spec.splitters import Splitter
from tokcli.engine.unicode import classes
from tokcli.engine.unicode.ranges import SPACE


def pieces_of(steps: Sequence[Splitter], text: Aligned) -> list[Aligned]:
    """Return the pieces into which splitters cut a text, one after the other."""
    pieces = [text]
    for step in steps:
        rule = _RULES[type(step)]
        pieces = [part for piece in pieces for part in rule(step, piece)]
        if len(steps) > _FEW:
            text.check(sum(len(part.text) for part in pieces))
    return pieces


_FEW = 4  # splitters: this many make a text at most 2**4 times as long


def cut(piece: Aligned, spans: Iterable[Span]) -> list[Aligned]:
    """Return the parts of a piece at these spans, without empty ones."""
    if piece.spans is None:
        text = piece.text
        return [Aligned(text[begin:end], most=piece.most) for begin, end in spans if begin < end]
    return [piece.part(begin, end) for begin, end in spans if begin < end]


def _split(step: spec.Split, piece: Aligned) -> list[Aligned]:
    found = matches(step.pattern, piece.text)
    if step.invert:
        found = ((begin, end, not is_match) for begin, end, is_match in found)
    return cut(piece, BEHAVIORS[step.behavior](found))


def _words(_: spec.Words, piece: Aligned) -> list[Aligned]:
    return cut(piece, (match.span() for match in _word_pattern().finditer(piece.text)))


@lru_cache(maxsize=1)
def _word_pattern() -> re.Pattern[str]:
    word = classes.members("WORD")
    return re.compile(f"[{word}]+|[^{word}{SPACE}]+")


def _byte_level(step: spec.ByteLevel, piece: Aligned) -> list[Aligned]:
    if step.add_prefix_space and not piece.text.startswith(" "):
        piece.prepend(" ")
    pieces = cut(piece, compiled(GPT2).find(piece.text)) if step.use_regex else [piece]
    for part in pieces:
        part.rewrite(to_byte_chars, lambda text: list(byte_changes(text)))
    return pieces


def _metaspace(step: spec.Metaspace, piece: Aligned) -> list[Aligned]:
    if piece.spans is None:
        piece.text = piece.text.replace(" ", step.replacement)
    else:
        piece.substitute(find(LiteralText(" "), piece.text), step.replacement)
    wanted = step.prepend_scheme == "always" or (step.prepend_scheme == "first" and piece.start == 0)
    if wanted and not piece.text.startswith(step.replacement):
        piece.prepend(step.replacement)
    if not step.split:
        return [piece]
    return cut(piece, BEHAVIORS["MergedWithNext"](matches(LiteralText(step.replacement), piece.text)))


def _fixed_length(step: spec.FixedLength, piece: Aligned) -> list[Aligned]:
    size = len(piece.text)
    return cut(piece, ((at, min(at + step.length, size)) for at in range(0, size, step.length)))


def _scripts(_: spec.UnicodeScripts, piece: Aligned) -> list[Aligned]:
    cuts: list[int] = []  # text before the first is lost, as in the library
    last: str | None = None
    for at, char in enumerate(piece.text):
        script = classes.script(char)
        if script is not None and script != last:
            cuts.append(at)
            last = script
    return cut(piece, zip(cuts, [*cuts[1:], len(piece.text)], strict=False))


_RULES: dict[type, Callable[[Any, Aligned], list[Aligned]]] = {
    spec.Split: _split,
    spec.Words: _words,
    spec.ByteLevel: _byte_level,
    spec.Metaspace: _metaspace,
    spec.FixedLength: _fixed_length,
    spec.UnicodeScripts: _scripts,
}
