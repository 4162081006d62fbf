"""Which tokens of a vocabulary a corpus uses, how often, and what characters of each script cost in tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tokcli.analysis.vocabulary import NOT_UTF8, scripts_by_text


class ScriptCost(NamedTuple):
    """The cost of one script: how many tokens with a first letter of it were used, for how many characters of text.

    Tokens without a letter, and bytes that are not UTF-8, are counted like scripts of their own.
    """

    tokens: int
    characters: int

    @property
    def per_character(self) -> float:
        """Return the number of tokens per character."""
        return self.tokens / self.characters if self.characters else 0.0


class Coverage(NamedTuple):
    """How often each id is used, the script of each used id, and the cost of each script, the costliest first."""

    uses: Counter[int]
    scripts: dict[int, str]
    costs: dict[str, ScriptCost]


def coverage_of(token_bytes: Mapping[int, bytes], ids: Iterable[Iterable[int]]) -> Coverage:
    """Return which tokens of a vocabulary a corpus uses; `ids` has the ids of each of its parts, of whole characters.

    A character that is split across tokens counts once, for its own script; bytes that are not UTF-8 have no script.

    >>> found = coverage_of({0: b"a", 1: b"\\xe4", 2: b"\\xb8\\xad", 3: b" b"}, [[0, 1, 2, 3, 0]])
    >>> found.uses[0], found.costs["Han"], found.costs["Latin"]
    (2, ScriptCost(tokens=2, characters=1), ScriptCost(tokens=3, characters=4))
    """
    texts = {id: _text_in(token) for id, token in token_bytes.items()}
    partial = frozenset(id for id, text in texts.items() if text is None)
    uses: Counter[int] = Counter()
    together: Counter[bytes] = Counter()  # the bytes of adjacent tokens that are whole characters only together
    pieces: Counter[bytes] = Counter()  # the number of tokens that those bytes took
    for part in ids:
        uses.update(part)
        held, count = b"", 0
        for id in part:
            if id in partial:
                held, count = held + token_bytes[id], count + 1
            if held and (id not in partial or _text_in(held) is not None):
                together[held] += 1
                pieces[held] += count
                held, count = b"", 0
        if held:
            together[held] += 1
            pieces[held] += count
    script_of = scripts_by_text(
        [*filter(None, map(texts.get, uses)), *(data.decode("utf-8", "replace") for data in together)]
    )
    tokens: Counter[str] = Counter()
    characters: Counter[str] = Counter()
    scripts: dict[int, str] = {}
    for id, times in uses.items():
        text = texts.get(id)
        scripts[id] = NOT_UTF8 if text is None else script_of.get(text, NOT_UTF8)
        if text is not None:
            tokens[scripts[id]] += times
            characters[scripts[id]] += times * len(text)
    for data, times in together.items():
        text = _text_in(data)
        script = NOT_UTF8 if text is None else script_of[text]
        tokens[script] += pieces[data]
        characters[script] += times * len(data if text is None else text)
    costs = {script: ScriptCost(count, characters[script]) for script, count in tokens.most_common()}
    return Coverage(uses, scripts, costs)


def _text_in(token: bytes) -> str | None:
    try:
        return token.decode()
    except UnicodeDecodeError:
        return None
