"""Keeps what a run learned about characters for a compiled tokenizer, so that later runs need not find it out.

Finding it out takes Unicode tables and the rules of the vocabulary's file, 60 ms; a file beside the container keeps the
answers. It is written when a tokenizer that learned something is released, or the run ends; the last to write it wins.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from tokcli.atomic import replace_file
from tokcli.engine.bindings.text_model import Learn, Learned
from tokcli.registry.compiled.container import fits, is_text, pack, unpack
from tokcli.registry.folders import map_file

MAX_CHARACTERS = 1 << 16  # characters that are kept; texts in all scripts have some 20,000
MAX_RUNS = 1 << 13  # runs, of characters that are normalized together, that are kept
MAX_RUN_BYTES = 64


class LearnedRules:
    """A `Learn` that answers from the file at `path`, and asks another `Learn` for what is missing there.

    `sha256` identifies the vocabulary that the rules are for.
    """

    def __init__(self, path: str, sha256: str, learn: Learn) -> None:
        self._path, self._sha256, self._learn = path, sha256, learn
        self._chars: dict[int, bytes | None] = {}
        self._classes: dict[int, int] = {}
        self._runs: dict[bytes, bytes] = {}
        self._is_read = self._is_new = False

    def known(self) -> Learned:
        """Return what is known already."""
        if not self._is_read:
            self._is_read = True
            self._read()
        return self._chars, self._classes, self._runs

    def __call__(self, chars: list[int], classes: list[int], runs: list[bytes]) -> Learned:
        if not self._is_read:
            self.known()
            asked = (
                [c for c in chars if c not in self._chars],
                [c for c in classes if c not in self._classes],
                [run for run in runs if run not in self._runs],
            )
            found = self._learn(*asked) if any(asked) else ({}, {}, {})
            # the whole file, since what is asked for next is likely to be in it
            answer = {**self._chars, **found[0]}, {**self._classes, **found[1]}, {**self._runs, **found[2]}
            if any(asked):
                self._keep(*found)
            return answer
        found = self._learn(chars, classes, runs)
        self._keep(*found)
        return found

    def _keep(self, chars: Mapping[int, bytes | None], classes: Mapping[int, int], runs: Mapping[bytes, bytes]) -> None:
        self._chars.update(chars)
        self._classes.update(classes)
        if len(self._runs) < MAX_RUNS:
            self._runs.update(runs)
        if not self._is_new:
            self._is_new = True
            weakref.finalize(self, _write, self._path, self._sha256, self._chars, self._classes, self._runs)

    def _read(self) -> None:
        block = map_file(self._path)
        container = None if block is None else unpack(memoryview(block))
        if container is None or not fits(container.header, _RULES) or container.header["sha256"] != self._sha256:
            return
        with suppress(ValueError):
            chars, classes, runs = (container.header[name] for name in ("chars", "classes", "runs"))
            known = {int(c): None if text is None else text.encode() for c, text in chars.items()}
            classed = {int(c): value for c, value in classes.items()}
            self._runs = {run.encode(): text.encode() for run, text in runs.items()}
            self._chars, self._classes = known, classed


def learners(path: str | None, sha256: str, learn: Learn) -> tuple[Learn, Callable[[], Learned] | None]:
    """Return a `Learn` that keeps its answers in the file at `path`, and a function that returns those in the file.

    Without a path, return `learn` itself and None.
    """
    rules = None if path is None else LearnedRules(path, sha256, learn)
    return (learn, None) if rules is None else (rules, rules.known)


def _write(
    path: str, sha256: str, chars: dict[int, bytes | None], classes: dict[int, int], runs: dict[bytes, bytes]
) -> None:
    header = {
        "sha256": sha256,
        "chars": {c: None if text is None else text.decode() for c, text in chars.items()},
        "classes": classes,
        "runs": {run.decode(): text.decode() for run, text in runs.items() if len(run) <= MAX_RUN_BYTES},
    }
    if max(len(chars), len(classes)) <= MAX_CHARACTERS:
        with suppress(OSError):
            replace_file(path, pack(header, {}))


def _is_texts(value: Any) -> bool:
    return type(value) is dict and all(text is None or type(text) is str for text in value.values())


_RULES = {
    "sha256": is_text,
    "chars": _is_texts,
    "classes": lambda value: type(value) is dict and all(type(v) is int and 0 <= v < 1 << 15 for v in value.values()),
    "runs": lambda value: _is_texts(value) and None not in value.values(),
}
