"""`inspect-ranks`: a search for tokens by --grep, --prefix, --not-utf8, --not-self and --longest."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, NoReturn

import regex

from tokcli.analysis.vocabulary import not_self
from tokcli.cli.inspect_ranks import listing
from tokcli.cli.inspect_ranks.inspect_options import InspectOptions, InspectRequest
from tokcli.cli.inspect_ranks.tokens import members, token_columns, token_rows
from tokcli.engine.base.time_limit import time_limit
from tokcli.engine.pretokenizers.compiling import compiled_search
from tokcli.errors import InputError, PatternError, PatternTimeoutError
from tokcli.render.tables import Column
from tokcli.render.visible import unescape

if TYPE_CHECKING:
    from tokcli.cli.terminal.pager import ShownOn

# A regex without repeated groups and with few repeated characters is quick on a short text. Only other regexes need a
# time limit, which takes ten times as long as the search.
_HARMLESS = r"\(\?(?:i\)|:|<?[=!])|\\[pP]\{\^?\w+\}"  # flags, groups, look-around, properties
_CLOCKLESS_CHARACTERS, _CLOCKLESS_REPEATS, _CLOCKLESS_CHOICES = 256, 2, 3
_CLOCKLESS_PATTERN = 1000  # characters of a regex; one that is longer may have many alternatives
_TIMES_IN_ALL = 4  # the time limit, for all texts together: 20 s, unless --timeout says something else


def show_found(request: InspectRequest, output: ShownOn) -> None:
    """Show the tokens that were searched for, in the order of their ids, or the longest first."""
    encoding, asked = request.encoding, request.options
    tokens = encoding.tokenizer.token_bytes()
    chosen = matching(tokens, asked)
    becomes = dict(not_self(encoding, chosen)) if asked.not_self else {}
    if asked.not_self:
        chosen = sorted(becomes)
    if asked.longest is not None:
        sizes = {id: len(tokens[id]) for id in chosen}
        chosen = sorted(chosen, key=sizes.__getitem__, reverse=True)[: asked.longest]
    shown = min(len(chosen), listing.ROWS_ON_SCREEN) if output.is_terminal else len(chosen)
    rows = token_rows(encoding, chosen, shown)
    columns = token_columns(encoding)
    if asked.not_self:
        columns += (Column("encoded as", lambda row: " ".join(map(str, becomes[row.id])), fold=True),)

    def as_json() -> object:
        return {
            "tokens": [members(row) | ({"encoded_as": becomes[row.id]} if row.id in becomes else {}) for row in rows]
        }

    listing.emit(request, output, columns, rows, len(chosen), as_json)


def matching(tokens: Mapping[int, bytes], asked: InspectOptions) -> list[int]:
    """Return, in order, the ids of the tokens that --prefix, --not-utf8 and --grep choose, where they were given."""
    chosen = sorted(tokens)
    if asked.prefix is not None:
        prefix = unescape(asked.prefix)
        chosen = [id for id in chosen if tokens[id].startswith(prefix)]
    if asked.not_utf8:
        chosen = [id for id in chosen if not tokens[id].isascii() and not _is_utf8(tokens[id])]
    if asked.grep is not None:
        texts = {id: tokens[id].decode("utf-8", "replace") for id in chosen}
        chosen = found_in(texts, asked.grep, asked.timeout)
    return chosen


def found_in(
    texts: Mapping[int, str], pattern: str, timeout: float, *, option: str = "--grep", any_case: bool = False
) -> list[int]:
    """Return the keys of the texts that a regex matches; InputError if it is not a regex, or is too slow on a text."""
    try:
        with time_limit(timeout):
            compiled = compiled_search(pattern, regex.IGNORECASE if any_case else 0)
    except PatternTimeoutError:
        raise
    except PatternError as error:
        raise InputError(f"{option}: {error.what.removeprefix('pattern: ')}", error.hint) from None
    search = _SearchInTexts(compiled, timeout, option)
    most = _CLOCKLESS_CHARACTERS if is_quick(pattern) else -1
    return [key for key, text in texts.items() if search.finds(text, has_clock=len(text) > most)]


class _SearchInTexts:
    """A search in many texts; InputError where it takes longer than `timeout` seconds in one, or far longer in all."""

    def __init__(self, compiled: regex.Pattern[str], timeout: float, option: str) -> None:
        self._search, self._timeout, self._option = compiled.search, timeout, option
        self._end = time.monotonic() + timeout * _TIMES_IN_ALL

    def finds(self, text: str, *, has_clock: bool) -> bool:
        """Return whether there is a match in a text; with `has_clock`, the search may take long."""
        if time.monotonic() > self._end:
            self._fail(self._timeout * _TIMES_IN_ALL, "all texts")
        if not has_clock:
            return self._search(text) is not None
        try:
            return self._search(text, timeout=self._timeout) is not None
        except TimeoutError:
            self._fail(self._timeout, "one text")

    def _fail(self, seconds: float, where: str) -> NoReturn:
        raise InputError(f"{self._option} takes more than {seconds:g} s for {where}", "--timeout allows more.")


def is_quick(pattern: str) -> bool:
    r"""Return whether a search with a regex takes at most some n**3 steps for n characters.

    >>> [is_quick(pattern) for pattern in ("wide|s$", r"(?i)^ \p{Lu}+", "(?:ab|c)+", "(?R)", ".*.*.*x", "a?a?a?a?aa")]
    [True, True, False, False, False, False]
    """
    if len(pattern) > _CLOCKLESS_PATTERN:
        return False
    rest = re.sub(_HARMLESS, "(", pattern)
    choices = re.findall(r"[*+{?]", rest)
    if "(?" in rest or re.search(r"\)\s*[*+{?]", rest) or len(choices) > _CLOCKLESS_CHOICES:
        return False
    return len(choices) - choices.count("?") <= _CLOCKLESS_REPEATS


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
