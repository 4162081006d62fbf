"""What the box to type in needs on a page: the ranks of the encoding, and how its pattern cuts text (merge.js)."""

from __future__ import annotations

from typing import Any

from tokcli.analysis.browser_tables import BrowserTables
from tokcli.engine.unicode.ranges import Ranges
from tokcli.render.pages.page_columns import Packer


def add_box(packer: Packer, tables: BrowserTables) -> dict[str, Any]:
    """Add the columns of a vocabulary, and return what the head of the page says of it as `box`."""
    parts = [sorted(table.items(), key=lambda item: item[1]) for table in (tables.ranks, tables.whole)]
    tokens = [*parts[0], *parts[1]]
    packer.add_numbers("boxIds", (rank for _, rank in tokens))
    packer.add_numbers("boxLengths", (len(token) for token, _ in tokens))
    packer.add_bytes("boxTokens", b"".join(token for token, _ in tokens))
    packer.add_bytes("boxPattern", tables.pattern.encode())
    packer.add_bytes("boxUnsafe", _class(tables.unsafe))
    packer.add_bytes("boxInert", _class(tables.inert))
    return {"ranks": len(parts[0]), "special": tables.special, "added": dict(tables.added), "form": tables.form}


def _class(ranges: Ranges) -> bytes:
    """Return a class of characters in JavaScript; nothing for no characters."""
    items = "".join(f"\\u{{{first:x}}}-\\u{{{last:x}}}" for first, last in ranges)
    return f"[{items}]".encode() if items else b""
