"""What runs before this one learned of characters for a compiled tokenizer, so that it need not be found out again.

Finding it out takes Unicode tables and the rules of the file, 0.06 s; a file beside the container has the answers. It
is written when a tokenizer that learned something is let go, or the run ends; of two such the later one stays.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from tokcli.engine.native_text import Learn, Learned
from tokcli.registry import containers
from tokcli.registry.containers import fits, is_text
from tokcli.registry.images import keep, mapped

MOST = 1 << 16  # characters that are kept; texts in all scripts have some 20,000
MOST_RUNS, MOST_RUN_BYTES = 1 << 13, 64  # of characters that touch each other


class LearnedRules:
    """A `Learn` that knows what stands in its file, and has others found out."""

    def __init__(self, path: str, sha256: str, learn: Learn) -> None:
        self._path, self._sha256, self._learn = path, sha256, learn
        self._chars: dict[int, bytes | None] = {}
        self._classes: dict[int, int] = {}
        self._runs: dict[bytes, bytes] = {}
        self._is_read = self._is_new = False

    def __call__(self, chars: list[int], classes: list[int], runs: list[bytes]) -> Learned:
        if not self._is_read:
            self._is_read = True
            self._read()
            asked = (
                [c for c in chars if c not in self._chars],
                [c for c in classes if c not in self._classes],
                [run for run in runs if run not in self._runs],
            )
            found = self._learn(*asked) if any(asked) else ({}, {}, {})
            # all: what is asked next is likely to be among it
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
        if len(self._runs) < MOST_RUNS:
            self._runs.update(runs)
        if not self._is_new:
            self._is_new = True
            weakref.finalize(self, _write, self._path, self._sha256, self._chars, self._classes, self._runs)

    def _read(self) -> None:
        block = mapped(self._path)
        container = None if block is None else containers.unpack(memoryview(block))
        if container is None or not fits(container.header, _RULES) or container.header["sha256"] != self._sha256:
            return
        with suppress(ValueError):
            chars, classes, runs = (container.header[name] for name in ("chars", "classes", "runs"))
            known = {int(c): None if text is None else text.encode() for c, text in chars.items()}
            grouped = {int(c): value for c, value in classes.items()}
            self._runs = {run.encode(): text.encode() for run, text in runs.items()}
            self._chars, self._classes = known, grouped


def _write(
    path: str, sha256: str, chars: dict[int, bytes | None], classes: dict[int, int], runs: dict[bytes, bytes]
) -> None:
    header = {
        "sha256": sha256,
        "chars": {c: None if text is None else text.decode() for c, text in chars.items()},
        "classes": classes,
        "runs": {run.decode(): text.decode() for run, text in runs.items() if len(run) <= MOST_RUN_BYTES},
    }
    if max(len(chars), len(classes)) <= MOST:
        with suppress(OSError):
            keep(path, containers.pack(header, {}))


def _is_texts(value: Any) -> bool:
    return type(value) is dict and all(text is None or type(text) is str for text in value.values())


_RULES = {
    "sha256": is_text,
    "chars": _is_texts,
    "classes": lambda value: type(value) is dict and all(type(v) is int and 0 <= v < 1 << 15 for v in value.values()),
    "runs": lambda value: _is_texts(value) and None not in value.values(),
}
