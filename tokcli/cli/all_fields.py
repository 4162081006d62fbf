"""`--all-fields`: JSON answers that keep the members of the JSON object that they answer."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from tokcli.cli.json_stream import safe
from tokcli.cli.streams import Input, Output

if TYPE_CHECKING:
    from typing_extensions import Buffer


_COLON = re.compile(r"\s*:\s*")  # before the value of a member


class AllFields(Output):
    """An output of JSON objects, one per line, each of which begins with the members of the object that it answers.

    Those members are copied as they were written. `own` names the members that answers have themselves: a member of
    the answered object with such a name is left out, and `note` says so once, unless it is `field`, from which the
    answer is made. The name a.b is that of member b of the object in a, unless there is a member of this very name.
    """

    def __init__(
        self, path: str | None, sources: Iterable[Input], own: Collection[str], field: str, note: Callable[[str], None]
    ) -> None:
        super().__init__(path, sources)
        self._own, self._unsaid, self._note = own, set(own) - {field}, note
        self._last = b"", b""  # the object that was answered last, and how its answers begin
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
        answered = self._answered.popleft()
        if answered is not self._last[0]:  # each of many chunks of a text answers one object
            kept = answered.decode().strip()[:-1].rstrip()
            if "\\" in kept or any(f'"{name.rpartition(".")[2]}"' in kept for name in self._own):  # maybe as a member
                self._note_lost(kept)
                kept = without_members(kept, self._own)
            self._last = answered, safe(kept if kept == "{" else f"{kept}, ").encode()
        return self._last[1]

    def _note_lost(self, answered: str) -> None:
        """Note which members of an object, without its last bracket, the answer lacks: of each name once."""
        lost = [name for name, _ in members_of(answered) if name in self._unsaid] if self._unsaid else []
        self._unsaid.difference_update(lost)
        if lost:
            names = ", ".join(map(repr, dict.fromkeys(lost)))
            self._note(f"--all-fields leaves out members of the records that answers have themselves: {names}.")


def without_members(text: str, names: Collection[str]) -> str:
    """Return a JSON object without the members of these names; both texts lack its last bracket.

    >>> without_members('{"a": 1, "b": {"c":2, "d":3}', ["a", "b.c"])
    '{"b": {"d":3}'
    """
    members = list(members_of(text))
    known = {name for name, _ in members}
    kept = []
    for name, member in members:
        inner = [each[len(name) + 1 :] for each in names if each.startswith(f"{name}.") and each not in known]
        if name not in names:
            kept.append(_without_inner(member, inner) if inner else member)
    return "{" + ", ".join(kept)


def _without_inner(member: str, names: Collection[str]) -> str:
    """Return the name and the value of a member without these members of the value, if it is an object."""
    decoder = json.JSONDecoder()
    begin = _COLON.match(member, decoder.raw_decode(member)[1]).end()  # type: ignore[union-attr]
    value = member[begin:]
    return member[:begin] + without_members(value[:-1].rstrip(), names) + "}" if value.startswith("{") else member


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
