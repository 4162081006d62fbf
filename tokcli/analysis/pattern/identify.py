"""Tells which known pattern a pattern is: word for word, by its pieces on every text tried, or else the nearest one."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import NamedTuple

from tokcli.analysis.pattern.bounds import refusing_depth
from tokcli.analysis.pattern.witness import WitnessSearch, find_witnesses
from tokcli.engine.base.time_limit import seconds_allowed
from tokcli.engine.pretokenizers import known_patterns as known
from tokcli.engine.pretokenizers.nodes import PatternTree
from tokcli.engine.pretokenizers.parser import parse

NAMES = (
    ("o200k_base", known.O200K),
    ("cl100k_base", known.CL100K),
    ("r50k_base", known.R50K),
    ("GPT-2", known.GPT2),
    ("tiktoken's _educational GPT-2", known.GPT2_EDUCATIONAL),
    ("Llama 3", known.LLAMA3),
    ("Qwen 2", known.QWEN2),
    ("Qwen 3.5", known.QWEN35),
    ("minbpe's GPT-4", known.GPT4),
    ("Mistral's Tekken", known.TEKKEN),
    ("StarCoder", known.STARCODER),
    ("DeepSeek V3", known.DEEPSEEK),
    ("DeepSeek Coder", known.DEEPSEEK_CODER),
    ("Falcon", known.FALCON),
    ("BLOOM", known.BLOOM),
    ("llama.cpp's default", known.LLAMA_CPP_DEFAULT),
    ("llama.cpp's gpt-4o", known.LLAMA_CPP_GPT4O),
    ("llama.cpp's granite", known.LLAMA_CPP_GRANITE),
    ("llama.cpp's tekken", known.LLAMA_CPP_TEKKEN),
    ("llama.cpp's deepseek-coder", known.LLAMA_CPP_CODER),
)
COMPARED = 5  # known patterns, the nearest by their words, that are compared on texts


class Change(NamedTuple):
    """A part of the known pattern, and what the other pattern has in its place; either may be empty."""

    known: str
    here: str


class Identity(NamedTuple):
    """The known pattern `name`: the same word for word, or compared on texts by `search`.

    The search has no witness if both split all texts tried alike. `changes` lead from the known pattern to the other.
    """

    name: str
    pat_str: str
    is_same_word_for_word: bool
    changes: tuple[Change, ...]
    search: WitnessSearch


def identify(pat_str: str) -> Identity:
    r"""Return the known pattern that a pattern is, or is nearest to; raise PatternError if it cannot be read.

    A pattern that is not one of them word for word is compared on texts with those whose words are nearest.

    >>> found = identify(known.LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}{1,2}"))
    >>> found.name, found.changes, found.search.witnesses[0].text
    ('Llama 3', (Change(known='\\p{N}{1,3}', here='\\p{N}{1,2}'),), '000')
    """
    for name, pattern in NAMES:
        if pattern == pat_str:
            return Identity(name, pattern, True, (), WitnessSearch((), 0, 0, 0))
    with refusing_depth():
        own = _words(parse(pat_str))
    rated = []
    for name, pattern in NAMES:
        words = _words(parse(pattern))
        rated.append((SequenceMatcher(None, words, own, autojunk=False).ratio(), name, pattern, words))
    rated.sort(key=lambda row: -row[0])
    nearest: Identity | None = None
    for _, name, pattern, words in rated[:COMPARED]:
        search = find_witnesses(pattern, pat_str, seconds=seconds_allowed() / COMPARED)
        found = Identity(name, pattern, False, _changes(words, own), search)
        if not search.witnesses:
            return found
        nearest = nearest or found
    assert nearest is not None
    return nearest


def _words(tree: PatternTree) -> list[str]:
    """Return the parts of a pattern: the items of each alternative, with | between alternatives."""
    words = [tree.head] if tree.head else []
    for number, alternative in enumerate(tree.alternatives):
        words += ["|"] * (number > 0) + [tree.text(item) for item in alternative.items]
    return words


def _changes(known_words: list[str], own: list[str]) -> tuple[Change, ...]:
    steps = SequenceMatcher(None, known_words, own, autojunk=False).get_opcodes()
    return tuple(Change("".join(known_words[a:b]), "".join(own[c:d])) for kind, a, b, c, d in steps if kind != "equal")
