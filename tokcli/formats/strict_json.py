"""JSON from untrusted files: parsed strictly, then read member by member with the path of each value at hand.

What the members mean is left to the formats.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, NoReturn, TypeVar

from tokcli.errors import VocabularyError
from tokcli.formats.limits import MAX_JSON_WEIGHT, MAX_RANK, MAX_TOKEN_BYTES, MAX_TOKENS
from tokcli.formats.refusals import refuse_cut, refuse_line, shown_text

_NAMES = {
    dict: "an object",
    list: "a list",
    str: "text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
}
_SHOWN = 40  # characters of a value in a message
_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")

Json = TypeVar("Json", bound="str | bool | int | float | list[Any] | dict[str, Any]")
Choice = TypeVar("Choice")


class JsonNode(NamedTuple):
    """A value, and its path from the top of the file, as messages name it: `tokenizer.json: model.merges[3]`.

    >>> JsonNode({"a": [1]}, "x.json").member("a").list()[0].text()
    Traceback (most recent call last):
    tokcli.errors.VocabularyError: x.json: a[0]: expected text, found 1
    """

    value: Any
    file: str
    path: str = ""
    is_missing: bool = False  # the object has no such member; one that is null is there

    def fail(self, what: str) -> NoReturn:
        """Raise VocabularyError, naming the file and the path."""
        raise VocabularyError(f"{self.path + ': ' if self.path else ''}{what}", where=self.file)

    def expect(self, kind: type[Json]) -> Json:
        """Return the value, which has to be of one type (a bool is not an int here)."""
        if type(self.value) is not kind:
            self.fail(f"expected {_NAMES[kind]}, found {_shown(self.value)}")
        return self.value

    def member(self, name: str) -> JsonNode:
        """Return a member of an object; null if it is missing."""
        members: dict[str, Any] = self.expect(dict)
        return JsonNode(
            members.get(name), self.file, f"{self.path}.{name}" if self.path else name, is_missing=name not in members
        )

    def nullable(self, name: str) -> JsonNode:
        """Return a member of an object, for which null is the same as if it were missing."""
        node = self.member(name)
        return node._replace(is_missing=node.value is None)

    def has(self, name: str) -> bool:
        """Return whether an object has a member that is not null."""
        return self.expect(dict).get(name) is not None

    def list(self) -> list[JsonNode]:
        """Return the items of a list."""
        return [JsonNode(item, self.file, f"{self.path}[{at}]") for at, item in enumerate(self.expect(list))]

    def items(self) -> Iterator[tuple[str, JsonNode]]:
        """Yield the members of an object."""
        for name in self.expect(dict):
            yield name, self.member(name)

    def text(self, default: str | None = None) -> str:
        """Return a text; `default` where it is missing."""
        if self.is_missing and default is not None:
            return default
        return self.expect(str)

    def character(self) -> str:
        """Return a text of one character."""
        text = self.text()
        if len(text) != 1:
            self.fail(f"expected one character, found {_shown(text)}")
        return text

    def flag(self, default: bool | None = None) -> bool:
        """Return true or false; `default` where it is missing."""
        if self.is_missing and default is not None:
            return default
        return self.expect(bool)

    def whole(self, low: int, high: int, default: int | None = None) -> int:
        """Return a whole number from `low` to `high`; `default` where it is missing."""
        if self.is_missing and default is not None:
            return default
        number = self.expect(int)
        if not low <= number <= high:
            self.fail(f"expected a number from {low} to {high}, found {_shown(number)}")
        return number

    def choice(self, names: Mapping[str, Choice], default: str | None = None) -> Choice:
        """Return the value that `names` has for a text; where it is missing, `default` is the text."""
        name = self.text(default)
        if name not in names:
            self.fail(f"{_shown(name)} is not one of {', '.join(names)}")
        return names[name]


def _shown(value: object) -> str:
    if isinstance(value, (dict, list)):
        return _NAMES[type(value)]
    if value is None:
        return "nothing"
    # writing a huge number in decimal takes long
    shown = "a huge number" if isinstance(value, int) and abs(value) >= 1 << 64 else ascii(value)
    return shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "..."


def parse_json_strictly(data: bytes, name: str, parse_float: Callable[[str], float] = float) -> Any:
    """Return the value of a JSON document; every text in it can be encoded as UTF-8.

    Raise VocabularyError, with `name` for the file, for what is not UTF-8 or not JSON, for an object that has a member
    twice, and for half of a surrogate pair.
    """

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            seen: set[str] = set()
            for key, _ in pairs:
                if key in seen:
                    raise VocabularyError(f"member {shown_text(key)} occurs twice in one object", where=name)
                seen.add(key)
        return found

    weight = data.count(b",") + data.count(b"[") + 4 * data.count(b"{")
    if weight > MAX_JSON_WEIGHT:
        raise VocabularyError(f"JSON of some {weight} values; at most {MAX_JSON_WEIGHT} are read", where=name)
    try:
        document = json.loads(data.decode(), object_pairs_hook=members, parse_float=parse_float)
        if _SURROGATE_ESCAPE.search(data):
            json.dumps(document, ensure_ascii=False).encode()
        return document
    except VocabularyError:
        raise
    except UnicodeEncodeError:
        raise VocabularyError("half of a surrogate pair (\\ud800 to \\udfff) is not a character", where=name) from None
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data":
            refuse_cut(f"{name}:{1 + data.count(10)}", "not JSON: ")
        raise VocabularyError("not UTF-8", where=name, offset=error.start, unit="byte") from None
    except json.JSONDecodeError as error:
        if error.msg.startswith("Unterminated string") or error.pos >= len(error.doc.rstrip()):
            refuse_cut(f"{name}:{1 + data.count(10)}", "not JSON: ")
        refuse_line(name, error.lineno, f"not JSON: {error.msg}")
    except (ValueError, RecursionError):
        raise VocabularyError("JSON with a number too long, or nested too deeply, to be read", where=name) from None


def check_ids(table: object, name: str) -> dict[str, int]:
    """Return `table` if it is an object that maps tokens to ids, each id once; raise VocabularyError otherwise.

    It comes from `parse_json_strictly`, so that its texts are known to consist of whole characters.

    >>> check_ids({"a": 0, "b": 0}, "vocab.json")
    Traceback (most recent call last):
    tokcli.errors.VocabularyError: vocab.json: 'b' has the id 0, which 'a' has already
    """
    if not isinstance(table, dict):
        raise VocabularyError("expected an object of tokens and their ids", where=name)
    if len(table) > MAX_TOKENS:
        raise VocabularyError(f"{len(table)} tokens; at most {MAX_TOKENS} are read", where=name)
    token_of: dict[int, str] = {}
    for token, id in table.items():
        if type(id) is not int or not 0 <= id <= MAX_RANK:
            raise VocabularyError(
                f"the id of {shown_text(token)} is not a whole number from 0 to {MAX_RANK}", where=name
            )
        if id in token_of:
            first = shown_text(token_of[id])
            raise VocabularyError(f"{shown_text(token)} has the id {id}, which {first} has already", where=name)
        if not 0 < len(token) <= MAX_TOKEN_BYTES:
            raise VocabularyError(f"a token of {len(token)} characters; 1 to {MAX_TOKEN_BYTES} are allowed", where=name)
        token_of[id] = token
    return table


# --- decimal numbers as Hugging Face's tokenizers reads them: not always the nearest double --------------------------

# Its parser (serde_json, without the feature float_roundtrip) makes the digits a whole number of 64 bits, and then
# divides. The last bit, which it gets wrong, decides between segmentations of equal score in a Unigram model.
_TOO_LARGE = 1 << 64
_SHORT = 20  # characters, of which 19 digits fit into 64 bits
_POWERS = [float(f"1e{power}") for power in range(_SHORT)]
_LARGEST_POWER = 308  # of ten, in serde_json's table


def serde_float(text: str) -> float:
    """Return a number in a JSON text as serde_json reads it; infinity or zero if it is out of range.

    >>> serde_float("-8.1e0"), serde_float("-7.2233899651048645"), float("-7.2233899651048645")
    (-8.1, -7.223389965104864, -7.2233899651048645)
    """
    # Short numbers are read apart: without that, ALBERT's 30,000 scores take 44 ms more, of 280 ms for the whole load.
    whole, _, fraction = text.partition(".")
    if len(text) <= _SHORT and fraction.isdecimal() and (number := int(whole + fraction)):
        return number / _POWERS[len(fraction)]
    mantissa, _, written = text.lower().partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("-")
    exponent = -len(fraction) + (max(-9999, min(9999, int(written))) if written else 0)
    number = int(digits)
    if number >= _TOO_LARGE:  # digits that no longer fit are left out; those before the point still count
        for size in (20, 19):
            number = int(digits.lstrip("0")[:size])
            if number < _TOO_LARGE:
                break
        exponent += len(digits.lstrip("0")) - size
    value = float(number)
    while exponent < -_LARGEST_POWER and value:
        value, exponent = value / 1e308, exponent + _LARGEST_POWER
    if value:
        value = float("inf") if exponent > _LARGEST_POWER else _scaled(value, exponent)
    return -value if text[0] == "-" else value


def _scaled(value: float, exponent: int) -> float:
    return value * float(f"1e{exponent}") if exponent >= 0 else value / float(f"1e{-exponent}")
