"""A record of --records: its text, its name in messages, and the members of the JSON object that it comes from.

How inputs become records is told by `inputs/records.py`, which most runs do not load.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tokcli.engine.stream.utf8 import without_surrogates
from tokcli.errors import InputError, NotUtf8Error

if TYPE_CHECKING:
    from tokcli.cli.streams import Input
    from tokcli.engine.stream.chunks import Utf8Errors

NO_TEXT = "the text is a list of words", "Join them to one text first."
# What our answers call ids, and then those of transformers, and of servers.
ID_MEMBERS = ("ids", "input_ids", "token_ids", "tokens")
PAIR = "text_pair"  # the member with the second text of a record
SEPARATOR = {"lines": b"\n", "nul": b"\0", "jsonl": b"\n"}


_JSON_NAMES = {list: "an array", dict: "an object", str: "a string", bool: "true or false", type(None): "null"}


def json_name(value: object) -> str:
    """Return what JSON calls a value that was parsed: "a string", "null", "a number"."""
    return _JSON_NAMES.get(type(value), "a number")


class Record:
    """One record: the bytes of its text, its name in messages, and the members of a JSON object."""

    __slots__ = ("data", "members", "shown")

    data: bytes
    is_words = False  # whether the text is a list of words (`RecordOfWords`)

    def __init__(self, data: bytes, shown: str, members: dict[str, Any] | None = None) -> None:
        self.data, self.shown, self.members = data, shown, members

    def blocks(self) -> Iterable[bytes]:
        """Return the bytes, as a stream of one block."""
        return [self.data]

    def texts(self) -> list[Record]:
        """Return what is encoded by itself: the record, or each of its words."""
        return [self]


class RecordOfWords(Record):
    """A record whose text is a list of words; whoever reads it as one text is told so by an InputError."""

    __slots__ = ("words",)

    is_words = True

    def __init__(self, words: list[bytes], shown: str, members: dict[str, Any] | None = None) -> None:
        self.words = [Record(word, shown) for word in words]
        self.shown, self.members = shown, members

    def texts(self) -> list[Record]:
        return self.words

    @property
    def data(self) -> bytes:  # type: ignore[override]
        """InputError: there is no text."""
        raise InputError(*NO_TEXT, where=self.shown)


def text_or_words(
    members: dict[str, Any],
    field: str,
    where: str | None,
    errors: Utf8Errors = "strict",
    *,
    takes_words: bool = True,
) -> bytes | list[bytes]:
    """Return the text in a member of a JSON object as `text_of` does; the words, if it is a list of strings.

    Without `takes_words`, such a list is an InputError, too.
    """
    value = _member(members, field, where)
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        if not takes_words:
            raise InputError(*NO_TEXT, where=where)
        return [text_of({field: word}, field, where, errors) for word in value]
    return text_of(members, field, where, errors)


def text_of(members: dict[str, Any], field: str, where: str | None, errors: Utf8Errors = "strict") -> bytes:
    """Return the text in a member of a JSON object, as UTF-8; InputError if it is missing or is not a string.

    A lone surrogate, which UTF-8 cannot hold, is an error, too, if `errors` is strict, and else U+FFFD, as in tiktoken.
    """
    text = _member(members, field, where)
    if not isinstance(text, str):
        raise InputError(f"member {field!r} is not a string but {json_name(text)}", where=where)
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        if errors == "strict":
            found = f"\\u{ord(text[error.start]):04x}"
            raise NotUtf8Error(
                f"half of a surrogate pair in member {field!r}",
                "Pass errors='replace' (U+FFFD for what is not UTF-8).",
                where=where,
                offset=error.start,
                unit="character",
                detail=found,
            ) from None
        return without_surrogates(text).encode()


def has_pair(source: Input | Record) -> bool:
    """Return whether an input is a record that has a second text, in its member text_pair."""
    return isinstance(source, Record) and (source.members or {}).get(PAIR) is not None  # null is none, as for Python


def pair_of(source: Input | Record, errors: Utf8Errors) -> Record | None:
    """Return the second text of a record as a record; None where there is none."""
    if not isinstance(source, Record) or source.members is None or not has_pair(source):
        return None
    text = text_or_words(source.members, PAIR, source.shown, errors)
    check_pair(text, source.shown, has_words=isinstance(source, RecordOfWords))
    return RecordOfWords(text, source.shown) if isinstance(text, list) else Record(text, source.shown)


def check_pair(pair: bytes | list[bytes], where: str | None, *, has_words: bool) -> None:
    """Raise InputError for a second text that is a list of words if the first is not (`has_words`), or the reverse."""
    if isinstance(pair, list) != has_words:
        raise InputError(f"the text or member {PAIR!r} is a list of words, and the other is not", where=where)


def ids_of(members: dict[str, Any], field: str | None, where: str) -> list[int]:
    """Return the ids in a member of a JSON object; InputError if it is not a list of whole numbers.

    Without a `field` it is the first of ID_MEMBERS that there is.
    """
    field = field or next((name for name in ID_MEMBERS if name in members), ID_MEMBERS[0])
    ids = _member(members, field, where, list)
    if not isinstance(ids, list) or not all(type(item) is int for item in ids):
        raise InputError(f"member {field!r} is not a list of ids", where=where)
    return ids


def _member(members: dict[str, Any], field: str, where: str | None, kind: type = str) -> object:
    """Return the member `field` of a JSON object; where none has this name, a.b is member b of the object in a."""
    if field in members:
        return members[field]
    found: object = members
    for name in field.split("."):
        if not isinstance(found, dict) or name not in found:
            known = ", ".join(map(repr, list(members)[:8])) or "none"
            likely = [name for name, value in members.items() if isinstance(value, kind)]
            named = f"--field {likely[0]}" if len(likely) == 1 and likely[0].isidentifier() else "--field"
            raise InputError(f"no member {field!r} (it has {known})", f"Name the member with {named}.", where=where)
        found = found[name]
    return found
