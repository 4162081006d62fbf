"""Keeps what a run learned about characters for a compiled tokenizer, so that later runs need not find it out.

Finding it out takes Unicode tables and the rules of the vocabulary's file, 60 ms; a file beside the container keeps the
answers. It is written when a tokenizer that learned something is released, or the run ends; the last to write it wins.
"""

from __future__ import annotations

import weakref
from array import array
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from tokcli.atomic import replace_file
from tokcli.engine.bindings.text_model import Learn, Learned
from tokcli.registry.compiled.container import pack, unpack
from tokcli.registry.folders import map_file

if TYPE_CHECKING:
    from tokcli.engine import _native

MAX_CHARACTERS = 1 << 16  # characters that are kept; texts in all scripts have some 20,000
MAX_RUNS = 1 << 13  # runs, of characters that are normalized together, that are kept
MAX_RUN_BYTES = 64


class LearnedRules:
    """A `Learn` that asks another one, and keeps its answers in the file at `path`.

    `sha256` identifies the vocabulary that the rules are for.
    """

    def __init__(self, path: str, sha256: str, learn: Learn) -> None:
        self._path, self._sha256, self._learn = path, sha256, learn
        self._rules = _Rules()
        self._is_new = False

    def teach(self, model: _native.TextModel) -> None:
        """Tell a native model what the file has; nothing if there is no such file, or anything is wrong with it."""
        sections = _sections_of(self._path, self._sha256)
        with suppress(ValueError):
            if sections is not None:
                model.learn_packed(*map(sections.__getitem__, _SECTIONS))

    def __call__(self, chars: list[int], classes: list[int], runs: list[bytes]) -> Learned:
        found = self._learn(chars, classes, runs)
        self._rules.update(*found)
        if not self._is_new:
            self._is_new = True
            weakref.finalize(self, _write, self._path, self._sha256, self._rules)
        return found


class _Rules:
    """What was learned: what characters and runs of them become, and the classes of characters."""

    def __init__(self) -> None:
        self.chars: dict[int, bytes | None] = {}
        self.classes: dict[int, int] = {}
        self.runs: dict[bytes, bytes] = {}

    def update(
        self, chars: Mapping[int, bytes | None], classes: Mapping[int, int], runs: Mapping[bytes, bytes]
    ) -> None:
        """Add what was learned, but no more than MAX_RUNS runs."""
        self.chars.update(chars)
        self.classes.update(classes)
        if len(self.runs) < MAX_RUNS:
            self.runs.update(runs)

    @property
    def size(self) -> tuple[int, int, int]:
        """The number of characters, classes and runs."""
        return len(self.chars), len(self.classes), len(self.runs)

    @classmethod
    def of(cls, sections: Mapping[str, memoryview]) -> _Rules:
        """Return the rules in the sections of a file; ValueError where these do not fit each other."""
        rules, read = cls(), {name: array(kind) for name, kind in _SECTIONS.items()}
        for name, items in read.items():
            items.frombytes(sections[name])
        made = _cut_up(read["texts"], read["sizes"])
        runs = _cut_up(read["run_texts"], read["run_sizes"])
        rules.chars = dict(zip(read["chars"], made, strict=True)) | dict.fromkeys(read["unsafe"])
        rules.classes = dict(zip(read["classed"], read["classes"], strict=True))
        rules.runs = dict(zip(runs[::2], runs[1::2], strict=True))
        return rules

    def sections(self) -> dict[str, bytes]:
        """Return the rules as the sections of a file."""
        chars = {c: text for c, text in self.chars.items() if text is not None}
        runs = [text for pair in self.runs.items() if len(pair[0]) <= MAX_RUN_BYTES for text in pair]
        made: dict[str, Iterable[int]] = {
            "chars": chars,
            "sizes": map(len, chars.values()),
            "texts": b"".join(chars.values()),
            "unsafe": (c for c, text in self.chars.items() if text is None),
            "classed": self.classes,
            "classes": self.classes.values(),
            "run_sizes": map(len, runs),
            "run_texts": b"".join(runs),
        }
        return {name: array(_SECTIONS[name], items).tobytes() for name, items in made.items()}


_SECTIONS = {  # as TextModel.learn_packed takes them, and the types of their items
    "chars": "I",
    "sizes": "I",
    "texts": "B",
    "unsafe": "I",
    "classed": "I",
    "classes": "H",
    "run_sizes": "I",
    "run_texts": "B",
}


def learners(path: str | None, sha256: str, learn: Learn) -> tuple[Learn, Callable[[_native.TextModel], None] | None]:
    """Return a `Learn` that keeps its answers in the file at `path`, and a function that teaches those in the file.

    Without a path, return `learn` itself and None.
    """
    rules = None if path is None else LearnedRules(path, sha256, learn)
    return (learn, None) if rules is None else (rules, rules.teach)


def _sections_of(path: str, sha256: str) -> dict[str, memoryview] | None:
    """Return the sections of a file with rules for this vocabulary; None for any other file."""
    block = map_file(path)
    container = None if block is None else unpack(memoryview(block))
    if container is None or container.header != {"sha256": sha256} or container.sections.keys() != _SECTIONS.keys():
        return None
    return dict(container.sections)


def _cut_up(texts: array[int], sizes: array[int]) -> list[bytes]:
    return [texts[begin:end].tobytes() for begin, end in pairwise(accumulate(sizes, initial=0))]


def _write(path: str, sha256: str, learned: _Rules) -> None:
    """Add what was learned to the file, unless it has all of it."""
    sections, rules = _sections_of(path, sha256), _Rules()
    with suppress(ValueError):
        rules = rules if sections is None else _Rules.of(sections)
    before = rules.size
    rules.update(learned.chars, learned.classes, learned.runs)
    if rules.size != before and max(rules.size[:2]) <= MAX_CHARACTERS:
        with suppress(OSError):
            replace_file(path, pack({"sha256": sha256}, rules.sections()))
