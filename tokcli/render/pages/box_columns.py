"""What the box to type in needs on a page: the ranks of the encoding, and how its pattern cuts text (merge.js)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tokcli.analysis.browser_tables import BrowserTables
from tokcli.engine.unicode.ranges import Ranges
from tokcli.render.pages.page_columns import Packer

_RANK, _WHOLE = 1, 2  # kinds of tokens: merging makes the first, only whole pieces become the second


def add_box(packer: Packer, tables: BrowserTables) -> dict[str, Any]:
    """Add the columns of a vocabulary, and return what the head of the page says of it as `box`."""
    parts = [sorted(table.items(), key=lambda item: item[1]) for table in (tables.ranks, tables.whole)]
    tokens = [*parts[0], *parts[1]]
    packer.add_numbers("boxIds", (rank for _, rank in tokens))
    packer.add_numbers("boxLengths", (len(token) for token, _ in tokens))
    packer.add_bytes("boxTokens", b"".join(token for token, _ in tokens))
    packer.add_bytes("boxKinds", bytes([_RANK]) * len(parts[0]) + bytes([_WHOLE]) * len(parts[1]))
    return _add_rules(packer, tables)


def add_box_of_table(packer: Packer, tables: BrowserTables, table: Mapping[int, bytes]) -> dict[str, Any]:
    """Add what `add_box` adds, to a page whose own table has all tokens."""
    packer.add_bytes(
        "boxKinds",
        bytes(
            _RANK if tables.ranks.get(token) == id else _WHOLE if tables.whole.get(token) == id else 0
            for id, token in sorted(table.items())
        ),
    )
    return _add_rules(packer, tables)


def _add_rules(packer: Packer, tables: BrowserTables) -> dict[str, Any]:
    packer.add_bytes("boxPattern", tables.pattern.encode())
    packer.add_bytes("boxUnsafe", _class(tables.unsafe))
    packer.add_bytes("boxInert", _class(tables.inert))
    return {"special": tables.special, "added": dict(tables.added), "form": tables.form}


def _class(ranges: Ranges) -> bytes:
    """Return a class of characters in JavaScript; nothing for no characters."""
    items = "".join(f"\\u{{{first:x}}}-\\u{{{last:x}}}" for first, last in ranges)
    return f"[{items}]".encode() if items else b""
