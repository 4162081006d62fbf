"""`--html FILE` of encode, split, count and inspect-ranks: what their pages have in common."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from tokcli.cli import streams
from tokcli.cli.json_stream import text_of_name
from tokcli.errors import InputError
from tokcli.render.numbers import counted, grouped
from tokcli.render.pages.page import PageKind, PageWords, make_page
from tokcli.render.pages.page_columns import Packer, PageTokens, with_ancestors
from tokcli.render.visible import BOUNDARY, NEWLINE, visible_bytes

if TYPE_CHECKING:
    from tokcli.engine.encoding import Encoding

    class HeadingOptions(Protocol):
        """The options that say what a page is about."""

        @property
        def text(self) -> str | None: ...
        @property
        def files(self) -> tuple[str, ...]: ...
        @property
        def recursive(self) -> bool: ...


MAX_TOKENS = 4_000_000  # of a page: some 16 MB of text, and as much as a browser scrolls through without effort
MOST_PLAIN = 10_000  # tokens or pieces that a page shows without JavaScript
MOST_OF_TEXT = 40  # characters of --text in the heading of its page
ELLIPSIS = "\u2026"


def check_size(tokens: int) -> None:
    """Raise InputError for a page of more tokens than a browser would show."""
    if tokens > MAX_TOKENS:
        raise InputError(f"a page holds at most {counted(MAX_TOKENS, 'token')}", "Cut the text, or use -n.")


def table_of(encoding: Encoding, ids: Iterable[int]) -> PageTokens:
    """Return the tokens that have these ids, and all tokens that were merged into them."""
    parents = encoding.tokenizer.all_parents().of if encoding.tokenizer.is_native else encoding.tokenizer.parents
    pairs = with_ancestors(ids, parents)
    tokens = {number: encoding.decode_single_token_bytes(number) for number in pairs}
    scores = encoding.tokenizer.scores()
    return PageTokens(
        tokens, pairs.__getitem__, special_ids(encoding), {n: scores[n] for n in tokens if n < len(scores)}
    )


def special_ids(encoding: Encoding) -> frozenset[int]:
    """Return the ids that only special tokens have."""
    return frozenset(filter(encoding.tokenizer.is_special, encoding.tokenizer.special_tokens.values()))


def heading_of(asked: HeadingOptions, names: Sequence[str]) -> str:
    """Return what a page is called: the beginning of --text, files and folders as given, or the `names` of inputs."""
    if asked.text is not None:
        line = " ".join(text_of_name(asked.text).split())
        return f'"{line if len(line) <= MOST_OF_TEXT else line[:MOST_OF_TEXT].rstrip() + ELLIPSIS}"'
    given = asked.files or ((os.curdir,) if asked.recursive else names)
    return named([_name_of(name) for name in given])


def named(names: Sequence[str]) -> str:
    """Return several names in one line.

    >>> named(["a.txt"]), named(["a.txt", "b.txt", "c.txt"])
    ('a.txt', 'a.txt and 2 more')
    """
    return names[0] + (f" and {grouped(len(names) - 1)} more" if names[1:] else "") if names else "no input"


def _name_of(name: str) -> str:
    """Return an input's name for people; the current folder has its own."""
    if name == streams.STANDARD_INPUT:
        return "standard input"
    return text_of_name(Path.cwd().name or os.sep if Path(name) == Path() else name)


def plain_text(parts: Iterable[bytes]) -> str:
    """Return the first tokens or pieces of a page for a browser without JavaScript, with a bar between them.

    >>> plain_text([b"two", b" words", b"\\n", b"more"])
    'two│·words│⏎\\n│more'
    """
    shown: list[str] = []
    for part in parts:
        if len(shown) == MOST_PLAIN:
            shown.append(ELLIPSIS)
            break
        shown.append(visible_bytes(part, spaces=True).replace(NEWLINE, NEWLINE + "\n"))
    return BOUNDARY.join(shown)


def write(
    path: str,
    sources: Iterable[streams.Input],
    kind: PageKind,
    words: PageWords,
    head: Mapping[str, Any],
    packer: Packer,
) -> None:
    """Write a page to the file at `path`; OutputError if it is one of the sources."""
    page = make_page(kind, words, {**head, "name": text_of_name(head["name"])}, packer)
    with streams.Output(path, sources) as output:
        output.write(page.encode("ascii"))
        output.flush()
