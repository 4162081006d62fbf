"""Pages: one HTML file that holds its style, its program and its data, runs from disk, and asks no one for anything.

What a page shows is data to it and never HTML: it stands in blocks that no browser runs, the program puts it on the
screen as text only, and a Content-Security-Policy allows nothing but that program and style, by their hashes. What the
data are is html_data.py's business.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

from tokcli.render.packed import Packer
from tokcli.render.visible import visible

PageKind: TypeAlias = Literal["encode", "split", "vocabulary"]

_PARTS = Path(__file__).parent / "pages"
_SCRIPTS: dict[PageKind, tuple[str, ...]] = {
    "encode": ("bytes.js", "elements.js", "tokens.js", "text.js", "encode.js"),
    "split": ("bytes.js", "elements.js", "tokens.js", "grid.js", "split.js"),
    "vocabulary": ("bytes.js", "elements.js", "tokens.js", "grid.js", "vocabulary.js"),
}


def make_page(kind: PageKind, title: str, head: Mapping[str, Any], packer: Packer) -> str:
    """The text of a page: `head` is what its program reads as JSON, `packer` has the columns, too long for that.

    All of it is ASCII, so that no one can mistake its encoding.
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
    # one pass: what was filled in is not looked at again
    first, *rest = _read("page.html").split("{{")
    return first + "".join(filled[name] + after for name, _, after in (part.partition("}}") for part in rest))


def _read(name: str) -> str:
    return (_PARTS / name).read_text("ascii").strip() + "\n"


def _policy(script: str, style: str) -> str:
    """Nothing but this script and this style: no network, no form, no other base; and no text that becomes HTML."""
    return (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; base-uri 'none'; "
        "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _escape(text: str) -> str:
    return html.escape(visible(text)).encode("ascii", "xmlcharrefreplace").decode()


def _json(value: object) -> str:
    r"""JSON in which nothing ends a script block or begins a comment: only ASCII, and no <, > or &.

    >>> _json("</script>\u2028")
    '"\\u003c/script\\u003e\\u2028"'
    """
    text = json.dumps(value, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
