"""`--all-fields`: JSON answers that keep the members of the JSON object that they answer."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from tokcli.cli.json_stream import safe
from tokcli.cli.streams import Input, Output

if TYPE_CHECKING:
    from typing_extensions import Buffer


_COLON = re.compile(r"\s*:\s*")  # before the value of a member


class AllFields(Output):
    """An output of JSON objects, one per line, each of which begins with the members of the object that it answers.

    Those members are copied as they were written. `own` names the members that answers have themselves: a member of
    the answered object with such a name is left out.
    """

    def __init__(self, path: str | None, sources: Iterable[Input], own: Collection[str]) -> None:
        super().__init__(path, sources)
        self._own = own
        self._answered: deque[bytes] = deque()  # objects whose answers are not written yet
        self._begins_line = True

    def answer(self, objects: Iterable[bytes]) -> None:
        """Take the JSON objects that the next lines answer."""
        self._answered.extend(objects)

    def write(self, data: Buffer) -> None:
        """Write bytes of JSON lines."""
        parts = []
        for line in bytes(data).splitlines(keepends=True):
            parts += [self._opening(), line[1:]] if self._begins_line else [line]
            self._begins_line = line.endswith(b"\n")
        super().write(b"".join(parts))

    def _opening(self) -> bytes:
        answered = self._answered.popleft().decode().strip()[:-1].rstrip()
        if "\\" in answered or any(f'"{name}"' in answered for name in self._own):  # maybe as the name of a member
            answered = "{" + ", ".join(member for name, member in members_of(answered) if name not in self._own)
        return safe(answered if answered == "{" else f"{answered}, ").encode()


def members_of(text: str) -> Iterator[tuple[str, str]]:
    """Yield the members of a JSON object that lacks its last bracket: the name of each, and name and value as written.

    >>> list(members_of('{"a": [1.10], "b":2'))
    [('a', '"a": [1.10]'), ('b', '"b":2')]
    """
    decoder = json.JSONDecoder()
    end = 0
    while at := text.find('"', end) + 1:
        name, end = decoder.raw_decode(text, at - 1)
        _, end = decoder.raw_decode(text, _COLON.match(text, end).end())  # type: ignore[union-attr]
        yield name, text[at - 1 : end]
