"""Puts a page together: one HTML file that holds its style, its program and its data, and runs from disk offline.

What a page shows is data and never HTML: it is in blocks that no browser runs, the program shows it as text only, and a
Content-Security-Policy allows nothing but that program and style, by their hashes. What the data are is left to
page_columns.py.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

from tokcli.render.pages.page_columns import Packer
from tokcli.render.visible import visible

PageKind: TypeAlias = Literal["encode", "split", "vocabulary"]

_FOLDER = Path(__file__).parent
_SCRIPTS: dict[PageKind, tuple[str, ...]] = {
    "encode": ("bytes.js", "elements.js", "tokens.js", "text.js", "encode.js"),
    "split": ("bytes.js", "elements.js", "tokens.js", "grid.js", "split.js"),
    "vocabulary": ("bytes.js", "elements.js", "tokens.js", "grid.js", "vocabulary.js"),
}


def make_page(kind: PageKind, title: str, head: Mapping[str, Any], packer: Packer) -> str:
    """Return the text of a page: its program reads `head` as JSON, and from `packer` the columns, too long for JSON.

    The text is ASCII, so that no browser can mistake its encoding.
    """
    style = _read("page.css")
    script = '"use strict";\n' + "\n".join(map(_read, _SCRIPTS[kind]))
    filled = {
        "policy": _policy(script, style),
        "title": _escape(title),
        "style": style,
        "script": script,
        "body": _read(f"{kind}.html"),
        "head": _json({**head, "columns": packer.columns}),
        "data": packer.finish(),
    }
    # in one pass, so that what was filled in is not taken for a place to fill
    first, *rest = _read("page.html").split("{{")
    return first + "".join(filled[name] + after for name, _, after in (part.partition("}}") for part in rest))


def _read(name: str) -> str:
    return (_FOLDER / name).read_text("ascii").strip() + "\n"


def _policy(script: str, style: str) -> str:
    """Return a policy for this script and this style only: no network, no form, no other base, no HTML from text."""
    return (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; base-uri 'none'; "
        "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _escape(text: str) -> str:
    return html.escape(visible(text)).encode("ascii", "xmlcharrefreplace").decode()


def _json(value: object) -> str:
    r"""Return JSON in which nothing ends a script block or begins a comment: only ASCII, and no <, > or &.

    >>> _json("</script>\u2028")
    '"\\u003c/script\\u003e\\u2028"'
    """
    text = json.dumps(value, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
