"""What of a request is not counted because it is no text, by kind; and the strings in JSON."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping

MAX_KINDS = 20  # that are told apart: a request may have a million members that no API knows
MAX_NAME = 40  # characters of a name in the request that a kind repeats
OTHER = "other unknown parts"

IMAGES, AUDIO, VIDEOS, FILES = "images", "audio", "videos", "files"
ENCRYPTED, SIGNATURES, CITATIONS = "encrypted parts", "signatures", "citations"
REFERENCES = "references to what the server keeps"
BUILT_IN_TOOLS, MCP_SERVERS = "built-in tools", "MCP servers"
_BY_MEDIA_TYPE = {"image": IMAGES, "audio": AUDIO, "video": VIDEOS}


class LeftOut:
    """Counts what is left out of a count, by kind.

    >>> left_out = LeftOut()
    >>> left_out.add(IMAGES, 2)
    >>> left_out.add_unknown("parts of type", "x" * 99)
    >>> list(left_out.kinds)[1][-8:], left_out.kinds[IMAGES]
    ("xxxx...'", 2)
    """

    def __init__(self) -> None:
        self.kinds = Counter[str]()

    def add(self, kind: str, number: int = 1) -> None:
        """Add a number of things of a kind."""
        is_new = number and kind not in self.kinds and len(self.kinds) >= MAX_KINDS
        if number:
            self.kinds[OTHER if is_new else kind] += number

    def add_all(self, kinds: Mapping[str, int]) -> None:
        """Add what is left out elsewhere."""
        for kind, number in kinds.items():
            self.add(kind, number)

    def add_unknown(self, what: str, name: str) -> None:
        """Add something that no API has, by the name that the request gives it."""
        shown = name if len(name) <= MAX_NAME else f"{name[:MAX_NAME]}..."
        self.add(f"{what} {shown!r}")

    def add_media(self, media_type: object, otherwise: str = FILES) -> None:
        """Add an image, a sound, a video or a file, as its media type ("image/png") says."""
        kind = media_type.partition("/")[0] if isinstance(media_type, str) else ""
        self.add(_BY_MEDIA_TYPE.get(kind, otherwise))


def snake_case(name: str) -> str:
    """Return a member's name in the spelling that all APIs share here.

    >>> snake_case("functionDeclarations"), snake_case("input_schema")
    ('function_declarations', 'input_schema')
    """
    return name if name.islower() else re.sub(r"(?<=[a-z0-9])[A-Z]", r"_\g<0>", name).lower()


def strings_in(value: object, *, names: bool = True) -> Iterator[str]:
    """Yield the strings in a JSON value that are not empty; with `names`, those of members, too.

    >>> list(strings_in({"a": ["b", 1, {"c": "", "d": None}]}))
    ['a', 'b', 'c', 'd']
    """
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, str):
            if one:
                yield one
        elif isinstance(one, Mapping):
            pairs = reversed([*one.items()])
            left += [item for name, found in pairs for item in ((found, name) if names else (found,))]
        elif isinstance(one, list):
            left += reversed(one)


def has_text(value: object) -> bool:
    """Return whether a JSON value has a string that is not empty, beside the names of members.

    >>> has_text({"a": [1, ""]}), has_text([{"a": "b"}])
    (False, True)
    """
    return any(strings_in(value, names=False))
