"""`inspect-ranks`: the tokens for which --grep, --prefix, --not-utf8 and --not-self hold, or the --longest of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tokcli.errors import InputError

if TYPE_CHECKING:
    import regex

    from tokcli.cli.inspect_views import Shown
    from tokcli.cli.options import Request
    from tokcli.render.tables import Column

# A regex of this form cannot take long for a text that is not: no group is repeated, and few characters are. Only the
# others need the clock, which takes ten times as long as the search.
_HARMLESS = r"\(\?(?:i\)|:|<?[=!])|\\[pP]\{\^?\w+\}"  # flags, groups, look-around, properties
_CLOCKLESS_CHARACTERS, _CLOCKLESS_REPEATS, _CLOCKLESS_CHOICES = 256, 2, 3


def show_found(request: Request, output: Shown) -> None:
    """The tokens, in the order of their ids, or the longest first."""
    from tokcli.cli import inspect_views
    from tokcli.cli.inspect_ranks import members, token_columns, token_rows
    from tokcli.engine.token_facts import not_self
    from tokcli.render import tables

    encoding, given = request.encoding, request.options
    tokens = encoding._all_decoder
    chosen = matching(tokens, given)
    becomes = dict(not_self(encoding, chosen)) if given["not_self"] else {}
    if given["not_self"]:
        chosen = sorted(becomes)
    if given["longest"] is not None:
        sizes = {number: len(tokens[number]) for number in chosen}
        chosen = sorted(chosen, key=sizes.__getitem__, reverse=True)[: given["longest"]]
    shown = min(len(chosen), inspect_views.ROWS_ON_SCREEN) if output.is_terminal else len(chosen)
    rows = token_rows(encoding, chosen, shown)
    columns: tuple[Column[Any], ...] = token_columns(encoding)
    if given["not_self"]:
        columns += (tables.Column("encoded as", lambda row: " ".join(map(str, becomes[row.id])), fold=True),)

    def as_json() -> object:
        return {
            "tokens": [members(row) | ({"encoded_as": becomes[row.id]} if row.id in becomes else {}) for row in rows]
        }

    inspect_views.emit(request, output, columns, rows, len(chosen), as_json)


def matching(tokens: Mapping[int, bytes], given: Mapping[str, Any]) -> list[int]:
    """The ids of the tokens for whose bytes --prefix, --not-utf8 and --grep hold, those that were given, in order."""
    chosen = sorted(tokens)
    if given["prefix"] is not None:
        from tokcli.render.visible import unescape

        prefix = unescape(given["prefix"])
        chosen = [number for number in chosen if tokens[number].startswith(prefix)]
    if given["not_utf8"]:
        chosen = [number for number in chosen if not tokens[number].isascii() and not _is_utf8(tokens[number])]
    if given["grep"] is not None:
        texts = {number: tokens[number].decode("utf-8", "replace") for number in chosen}
        chosen = found_in(texts, given["grep"], given["timeout"])
    return chosen


def found_in(texts: Mapping[int, str], pattern: str, timeout: float) -> list[int]:
    """The keys of the texts in which a regex is found; InputError where it is none, or takes too long for one text."""
    import regex

    try:
        compiled = regex.compile(pattern)
    except (regex.error, ValueError, OverflowError, RecursionError) as error:
        raise InputError(f"--grep: not a regex: {error}") from None
    search = compiled.search
    if not is_quick(pattern):
        return [key for key, text in texts.items() if _is_found(compiled, text, timeout)]
    most = _CLOCKLESS_CHARACTERS
    return [
        key
        for key, text in texts.items()
        if (search(text) if len(text) <= most else _is_found(compiled, text, timeout))
    ]


def is_quick(pattern: str) -> bool:
    r"""Whether a search by a regex takes at most some n**3 steps for n characters.

    >>> [is_quick(pattern) for pattern in ("wide|s$", r"(?i)^ \p{Lu}+", "(?:ab|c)+", "(?R)", ".*.*.*x", "a?a?a?a?aa")]
    [True, True, False, False, False, False]
    """
    rest = re.sub(_HARMLESS, "(", pattern)
    choices = re.findall(r"[*+{?]", rest)
    if "(?" in rest or re.search(r"\)\s*[*+{?]", rest) or len(choices) > _CLOCKLESS_CHOICES:
        return False
    return len(choices) - choices.count("?") <= _CLOCKLESS_REPEATS


def _is_found(compiled: regex.Pattern[str], text: str, timeout: float) -> bool:
    try:
        return compiled.search(text, timeout=timeout) is not None
    except TimeoutError:
        raise InputError(f"--grep: it takes more than {timeout:g} s for one token", "--timeout allows more.") from None


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
