"""JSON written member by member, so that no document is held in memory, and safe for a terminal; and strict parsing."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType
    from typing import Protocol

    from typing_extensions import Buffer

    class Sink(Protocol):
        """An output to which JSON is written."""

        def write(self, data: Buffer, /) -> None:
            """Write bytes."""


FEW = 16  # items, or members, that are written here; of more, `json` is faster
# Characters that a terminal might act on, or that nobody would see: in JSON, \uXXXX is the same text.
_UNSAFE = (
    "[\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e0fff]"
)


def dump(value: object) -> str:
    """Return a value as JSON on one line, readable, and without a character that a terminal would act on.

    >>> dump({"text": "é\\u202e"})
    '{"text": "é\\\\u202e"}'
    """
    with suppress(TypeError):
        return _dump_simple(value)
    return safe(_json().dumps(value, ensure_ascii=False))


def _dump_simple(value: object) -> str:
    """Return JSON of plain text, whole numbers, and a few of these together; TypeError for what `json` has to write.

    Most answers have nothing else, and loading `json` takes 1.5 ms.

    >>> _dump_simple({"path": "a.txt", "ids": [1, None], "ok": True})
    '{"path": "a.txt", "ids": [1, null], "ok": true}'
    """
    if type(value) is str and value.isascii() and value.isprintable() and '"' not in value and "\\" not in value:
        return f'"{value}"'
    if type(value) is int:
        return str(value)
    if type(value) is bool or value is None:
        return "null" if value is None else "true" if value else "false"
    if type(value) is dict and len(value) <= FEW and all(type(name) is str for name in value):
        members = [f"{_dump_simple(name)}: {_dump_simple(item)}" for name, item in value.items()]
        return f"{{{', '.join(members)}}}"
    if type(value) is list and len(value) <= FEW:
        return f"[{', '.join(map(_dump_simple, value))}]"
    raise TypeError


def parse(text: str) -> Any:
    """Return the value of JSON, without NaN and Infinity; ValueError has `pos`, in characters, where that is known."""
    return _json().loads(text, parse_constant=_no_constant)


def parse_objects(lines: Sequence[bytes]) -> list[dict[str, Any]] | None:
    """Return the object on each line, all parsed in one call, in half the time; None if any line is not one object.

    A random string is put between the lines: if it comes back between every two values, each line is exactly one value.
    `parse` says what is wrong with a line.

    >>> parse_objects([b'{"a": 1}', b'{}']), parse_objects([b'{}, {}', b'[', b']'])
    ([{'a': 1}, {}], None)
    """
    between = os.urandom(16).hex()
    try:
        joint = b',"%b",' % between.encode()
        found = parse(f"[{joint.join(lines).decode()}]")
    except (ValueError, RecursionError):
        return None
    objects = found[::2]
    is_right = len(found) == 2 * len(lines) - 1 and found[1::2] == [between] * (len(lines) - 1)
    return objects if is_right and all(type(each) is dict for each in objects) else None


def _json() -> ModuleType:
    import json

    return json


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not a JSON number")


def safe(text: str) -> str:
    """Return JSON without a character that a terminal would act on."""
    return text if text.isascii() and "\x7f" not in text else re.sub(_UNSAFE, _escaped, text)


def _escaped(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))


def text_member(data: bytes) -> dict[str, str]:
    """Return bytes as the member `text`, or as `bytes_hex` where they are not UTF-8."""
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"bytes_hex": data.hex()}


def text_of_name(name: str) -> str:
    r"""Return the name of a file as JSON can hold it: bytes that are not UTF-8 (PEP 383) become U+FFFD.

    >>> text_of_name("caf\udce9.txt"), text_of_name("café.txt")
    ('caf\ufffd.txt', 'café.txt')
    """
    if name.isascii():
        return name
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def path_members(path: str) -> dict[str, str]:
    r"""Return the path of a file as the members of a JSON object: `path`, and `path_hex` where it is not UTF-8.

    `path_hex` has the bytes of the path as hexadecimal digits.

    >>> path_members("café"), path_members("caf\udce9")
    ({'path': 'café'}, {'path': 'caf\ufffd', 'path_hex': '636166e9'})
    """
    text = text_of_name(path)
    return {"path": text} if text == path else {"path": text, "path_hex": path.encode("utf-8", "surrogateescape").hex()}


def line(value: object) -> bytes:
    """Return a value as one line of JSON."""
    return f"{dump(value)}\n".encode()


class JsonStream:
    r"""Writes JSON documents to a sink, one per line.

    >>> class Shown:
    ...     def write(self, data: bytes) -> None: print(data.decode(), end="")
    >>> stream = JsonStream(Shown())
    >>> with stream.object(name="x"):
    ...     with stream.array("ids"):
    ...         stream.value(1)
    ...         stream.values(b"2, 3")
    ...     stream.members(count=3)
    {"name": "x", "ids": [1, 2, 3], "count": 3}

    A document that an error interrupts is left unclosed, so that its reader sees that it is incomplete. What opens a
    document is written with its first value: an error before that leaves nothing.
    """

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._open: list[bytes] = []  # the brackets that will close what is open
        self._held = b""  # the names and brackets that were opened since the last value
        self._is_first = True  # of the items or members of what is open

    @contextmanager
    def object(self, **members: Any) -> Iterator[None]:
        """Write an object that begins with some members: a document, or an item of the array that is open."""
        self.begin_object(**members)
        yield
        self.end()

    @contextmanager
    def array(self, name: str) -> Iterator[None]:
        """Write an array, as a member of the object that is open."""
        self.begin_array(name)
        yield
        self.end()

    def begin_object(self, **members: Any) -> None:
        """Open an object, for `end` to close."""
        self._begin(b"{", b"}")
        self.members(members)

    def begin_array(self, name: str) -> None:
        """Open an array, as a member of the object that is open, for `end` to close."""
        self._begin(f"{dump(name)}: [".encode(), b"]")

    def end(self) -> None:
        """Close what was opened last."""
        self._held += self._open.pop() + (b"" if self._open else b"\n")
        self.flush()
        self._is_first = not self._open

    def members(self, members: Mapping[str, Any] | None = None, /, **more: Any) -> None:
        """Write members of the object that is open."""
        if found := {**(members or {}), **more}:
            self._write(dump(found)[1:-1].encode())

    def value(self, value: Any) -> None:
        """Write an item of the array that is open."""
        self._write(dump(value).encode())

    def values(self, rendered: Buffer) -> None:
        """Write items of the array that is open, given as JSON text with commas between them."""
        self._write(rendered)

    def flush(self) -> None:
        """Write what is held back, so that values can be written to the sink itself."""
        if self._held:
            self._sink.write(self._held)
            self._held = b""

    def _begin(self, opening: bytes, closing: bytes) -> None:
        self._held += opening if self._is_first else b", " + opening
        self._open.append(closing)
        self._is_first = True

    def _write(self, data: Buffer) -> None:
        self._held += b"" if self._is_first else b", "
        self.flush()
        self._sink.write(data)
        self._is_first = False


def around(member: str, *, is_array: bool = False) -> tuple[bytes, bytes]:
    r"""Return the bytes before and after the value of an object's only member, for values that are formatted elsewhere.

    >>> around("count"), around("ids", is_array=True)
    ((b'{"count": ', b'}\n'), (b'{"ids": [', b']}\n'))
    """
    before, _, after = line({member: [None] if is_array else None}).partition(b"null")
    return before, after
