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
from typing import Any, Literal, NamedTuple, TypeAlias

from tokcli.render.pages.page_columns import Packer
from tokcli.render.visible import visible

PageKind: TypeAlias = Literal["encode", "compare", "split", "vocabulary", "tree"]

_FOLDER = Path(__file__).parent
_COMMON = ("bytes.js", "elements.js", "find.js", "tokens.js")
_SCRIPTS: dict[PageKind, tuple[str, ...]] = {
    "encode": (*_COMMON, "text.js", "merge.js", "box.js", "encode.js"),
    "compare": (*_COMMON, "text.js", "compare.js"),
    "split": (*_COMMON, "text.js", "grid.js", "legend.js", "split.js"),
    "vocabulary": (*_COMMON, "grid.js", "merge.js", "box.js", "vocabulary.js"),
    "tree": ("bytes.js", "elements.js", "grid.js", "tree.js"),
}
_STYLES: dict[PageKind, tuple[str, ...]] = {
    "encode": ("theme.css", "page.css", "tokens.css", "box.css"),
    "compare": ("theme.css", "page.css", "tokens.css"),
    "split": ("theme.css", "page.css", "tokens.css"),
    "vocabulary": ("theme.css", "page.css", "box.css"),
    "tree": ("theme.css", "page.css", "tree.css"),
}


class PageWords(NamedTuple):
    """The text of a page without its program: what it is about, of which encoding, and the first facts.

    Only `plain` may have several lines.
    """

    title: str  # of the window
    heading: str  # the input, or whatever else the page is about
    name: str  # of the encoding
    summary: str
    plain: str = ""  # what a browser without JavaScript shows in the place of the data


def make_page(kind: PageKind, words: PageWords, head: Mapping[str, Any], packer: Packer) -> str:
    """Return the text of a page: its program reads `head` as JSON, and from `packer` the columns, too long for JSON.

    The text is ASCII, so that no browser can mistake its encoding.
    """
    style = "".join(map(_read, _STYLES[kind]))
    script = '"use strict";\n' + "\n".join(map(_read, _SCRIPTS[kind]))
    said = {name: "\n".join(map(_escape, text.split("\n"))) for name, text in words._asdict().items()}
    filled = {
        **said,
        "policy": _policy(script, style),
        "style": style,
        "script": script,
        "body": _fill(_read(f"{kind}.html"), {**said, "box": _read("box.html") if "box" in head else ""}),
        "head": _json({**head, "columns": packer.columns}),
        "data": packer.finish(),
    }
    return _fill(_read("page.html"), filled)


def _fill(template: str, filled: Mapping[str, str]) -> str:
    """Return a template with its places filled, in one pass: what was filled in is not taken for a place to fill."""
    first, *rest = template.split("{{")
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
