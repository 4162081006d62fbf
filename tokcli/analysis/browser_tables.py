r"""What a browser needs to give the ids of an encoding: ranks, a pattern in JavaScript, and the text it leaves to us.

Only tokenizers that ranks and one pattern express have such tables: tiktoken's, minbpe's, and byte-level ones with
`text_ranks`. A text with a character of `unsafe` is one whose ids only the tokenizer itself gives.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tokcli.analysis.pattern.emit import emit
from tokcli.analysis.pattern.lint import takes_exponential_time
from tokcli.engine.encoding import Encoding
from tokcli.engine.pretokenizers.known_patterns import KNOWN_PATTERNS
from tokcli.engine.pretokenizers.pretokenizer import ALL
from tokcli.engine.text_tokenizer import TextTokenizer
from tokcli.engine.unicode.forms import inert_ranges
from tokcli.engine.unicode.ranges import Ranges
from tokcli.errors import PatternError

MAX_BYTES = 4_000_000  # of all tokens together: o200k_base has 1.4 MB, the largest in use some 3 MB


class BrowserTables(NamedTuple):
    """The tables of an encoding for a browser.

    Pieces that `pattern` cuts (a regex of JavaScript for its flag u) are looked up in `ranks` and `whole`, and else
    merged by `ranks`. `special` are the special tokens, which are text here; `added` are tokens that are found in any
    text, before it is normalized to the Unicode form `form`, all but runs of `inert` characters.
    """

    ranks: Mapping[bytes, int]
    whole: Mapping[bytes, int]
    pattern: str
    special: tuple[str, ...] = ()
    added: Mapping[str, int] = {}
    unsafe: Ranges = ()
    form: str | None = None
    inert: Ranges = ()


def browser_tables(encoding: Encoding) -> BrowserTables | None:
    """Return the tables of an encoding; None where ranks and a pattern do not express it, or they are too large.

    >>> own = Encoding("own", pat_str=r"\\w+|\\W", mergeable_ranks={b"a": 0, b"b": 1, b"ab": 2},
    ...                special_tokens={"<x>": 3})
    >>> found = browser_tables(own)
    >>> (dict(found.ranks), found.special) if found else None
    ({b'a': 0, b'b': 1, b'ab': 2}, ('<x>',))
    """
    rules = encoding.tokenizer.rules
    try:
        found = _of_ranks(encoding) if rules is None else _of_rules(encoding, rules)
    except PatternError:  # not even the command line could split by it
        return None
    if found is None or not found.ranks or sum(map(len, (*found.ranks, *found.whole))) > MAX_BYTES:
        return None
    return found


def _of_ranks(encoding: Encoding) -> BrowserTables | None:
    special = tuple(encoding.tokenizer.special_tokens)
    return _checked(encoding._pat_str, BrowserTables(encoding._mergeable_ranks, {}, "", special))


def _of_rules(encoding: Encoding, rules: TextTokenizer) -> BrowserTables | None:
    special = tuple(rules.special_tokens)
    if (as_ranks := rules.as_ranks()) is not None:
        return _checked(rules.single_pattern or ALL, BrowserTables(as_ranks[0], {}, "", special))
    text_ranks = rules.text_ranks
    if text_ranks is None or text_ranks.spec.puts_space:
        return None
    added = set(text_ranks.special_tokens.values())
    ranks = {token: rank for token, rank in text_ranks.mergeable_ranks.items() if rank not in added}
    taken = added.union(ranks.values())
    whole = {token: one for one, token in encoding.tokenizer.token_bytes().items() if one not in taken and token}
    always = {token: one for token, one in text_ranks.special_tokens.items() if token not in rules.special_tokens}
    made = BrowserTables(
        ranks, whole if rules.ignore_merges else {}, "", special, always, text_ranks.unsafe, text_ranks.spec.form,
        inert_ranges() if text_ranks.spec.form else (),
    )  # fmt: skip
    return _checked(text_ranks.pretokenizer.pat_str, made)


def _checked(pat_str: str, made: BrowserTables) -> BrowserTables | None:
    """Return tables with a pattern; None where JavaScript cannot express it, or some texts would take for ever."""
    if pat_str not in KNOWN_PATTERNS and takes_exponential_time(pat_str):
        return None
    emitted = emit(pat_str, "js", lists_properties=True)
    return None if emitted.obstacles else made._replace(pattern=emitted.pattern)
