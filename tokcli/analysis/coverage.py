"""Which tokens of a vocabulary a corpus uses, how often, and what characters of each script cost in tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tokcli.analysis.vocabulary import NOT_UTF8, scripts_by_text


class ScriptCost(NamedTuple):
    """The tokens whose first letter is of a script (or which have none), and the characters that they stand for."""

    tokens: int
    characters: int

    @property
    def per_character(self) -> float:
        """Tokens for each character."""
        return self.tokens / self.characters if self.characters else 0.0


class Coverage(NamedTuple):
    """How often each id is used, the script of each id, and the cost of each script, the most tokens first."""

    uses: Counter[int]
    scripts: dict[int, str]
    costs: dict[str, ScriptCost]


def coverage_of(token_bytes: Mapping[int, bytes], ids: Iterable[Iterable[int]]) -> Coverage:
    """Return what a corpus uses of a vocabulary; `ids` are those of its parts, of whole characters each.

    A character that several tokens cut counts once, and for its own script; bytes that are no text have none.

    >>> found = coverage_of({0: b"a", 1: b"\\xe4", 2: b"\\xb8\\xad", 3: b" b"}, [[0, 1, 2, 3, 0]])
    >>> found.uses[0], found.costs["Han"], found.costs["Latin"]
    (2, ScriptCost(tokens=2, characters=1), ScriptCost(tokens=3, characters=4))
    """
    texts = {number: _text_in(token) for number, token in token_bytes.items()}
    partial = frozenset(number for number, text in texts.items() if text is None)
    uses: Counter[int] = Counter()
    together: Counter[bytes] = Counter()  # the bytes of neighbours that only together are whole characters
    pieces: Counter[bytes] = Counter()  # and how many tokens they are
    for part in ids:
        uses.update(part)
        held, count = b"", 0
        for number in part:
            if number in partial:
                held, count = held + token_bytes[number], count + 1
            if held and (number not in partial or _text_in(held) is not None):
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
    for number, times in uses.items():
        text = texts.get(number)
        scripts[number] = NOT_UTF8 if text is None else script_of.get(text, NOT_UTF8)
        if text is not None:
            tokens[scripts[number]] += times
            characters[scripts[number]] += times * len(text)
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
