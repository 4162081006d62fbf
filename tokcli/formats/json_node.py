"""A value in a JSON document that knows where it stands, so that what is wrong with it can be named."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn

from tokcli.errors import VocabularyError

_NAMES = {
    dict: "an object",
    list: "a list",
    str: "text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
}
_SHOWN = 40


class Node(NamedTuple):
    """A value, and its path from the top of the file: `tokenizer.json: model.merges[3]`.

    >>> Node({"a": [1]}, "x.json").member("a").list()[0].text()
    Traceback (most recent call last):
    tokcli.errors.VocabularyError: x.json: a[0]: expected text, found 1
    """

    value: Any
    file: str
    path: str = ""

    def fail(self, what: str) -> NoReturn:
        """VocabularyError naming the place."""
        raise VocabularyError(f"{self.file}: {self.path + ': ' if self.path else ''}{what}")

    def _expect(self, *kinds: type) -> Any:
        if type(self.value) not in kinds:
            self.fail(f"expected {_NAMES[kinds[0]]}, found {_shown(self.value)}")
        return self.value

    def member(self, name: str) -> Node:
        """A member of an object; null where it is missing."""
        return Node(self._expect(dict).get(name), self.file, f"{self.path}.{name}" if self.path else name)

    def has(self, name: str) -> bool:
        """Whether an object has a member that is not null."""
        return self._expect(dict).get(name) is not None

    def list(self) -> list[Node]:
        """The items of a list."""
        return [Node(item, self.file, f"{self.path}[{at}]") for at, item in enumerate(self._expect(list))]

    def items(self) -> Iterator[tuple[str, Node]]:
        """The members of an object."""
        for name in self._expect(dict):
            yield name, self.member(name)

    def text(self, default: str | None = None) -> str:
        """A text of characters; `default` for null."""
        if self.value is None and default is not None:
            return default
        text: str = self._expect(str)
        if any("\ud800" <= char <= "\udfff" for char in text) if not text.isascii() else False:
            self.fail(f"{_shown(text)} has half a character in it")
        return text

    def character(self) -> str:
        """A text of one character."""
        text = self.text()
        if len(text) != 1:
            self.fail(f"expected one character, found {_shown(text)}")
        return text

    def flag(self, default: bool | None = None) -> bool:
        """True or false; `default` for null."""
        if self.value is None and default is not None:
            return default
        return bool(self._expect(bool))

    def whole(self, low: int, high: int, default: int | None = None) -> int:
        """A whole number from `low` to `high`."""
        if self.value is None and default is not None:
            return default
        number: int = self._expect(int)
        if not low <= number <= high:
            self.fail(f"expected a number from {low} to {high}, found {_shown(number)}")
        return number

    def choice(self, names: dict[str, Any], default: str | None = None) -> Any:
        """What one of some names stands for."""
        name = self.text(default)
        if name not in names:
            self.fail(f"{_shown(name)} is none of {', '.join(names)}")
        return names[name]


def _shown(value: object) -> str:
    if isinstance(value, (dict, list)):
        return _NAMES[type(value)]
    if value is None:
        return "nothing"
    # a huge number takes long to write
    shown = "a huge number" if isinstance(value, int) and abs(value) >= 1 << 64 else ascii(value)
    return shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "..."
