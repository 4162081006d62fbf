"""Ranks and merges as Hugging Face's tokenizer.json, in the spelling that most of its readers know.

Many readers (fastokens, gigatoken, quicktok, splintr) recognise a pattern by its text, and want ids without holes. So a
pattern is written as the tokenizer.json of published models have it, wherever it gives the same ids, and special tokens
whose ids follow the vocabulary's are kept out of it.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from tokcli.engine.pretokenizers import known_patterns as known
from tokcli.engine.pretokenizers.pretokenizer import ALL
from tokcli.errors import VocabularyError
from tokcli.formats.export.writers import ExportVocabulary, vocabulary, written

_AS_GPT2 = {known.R50K, known.GPT2, known.GPT2_EDUCATIONAL}  # three spellings of what ByteLevel does by itself
_ROWS = {one: row for row, one in known.IN_A_ROW.items()}
# CL100K in the syntax of Oniguruma, which tokenizers 0.23 uses (`{1,3}+` is a repeated `{1,3}` there, `$` is also the
# end of a line), and without possessive repeats, which readers without backtracking do not have.
_CL100K = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s+\z|\s*[\r\n]|\s+(?!\S)|\s"
)
_MORE_AFTER_LAST_LINE = re.compile(rb"[\r\n][^\r\n]+\Z")
_NOT_IN_ONIGURUMA = ("}+", "$", "^", "&&", "--", "[[", r"\h", r"\z", r"\Z", r"\A", r"\b", r"\G",
                     "(?<", "(?P", "(?V", "(?m", "(?s")  # fmt: skip
_MAX_FILLED = 10_000  # ids without a token that are filled
_FLAGS = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}


def format_huggingface(made: ExportVocabulary) -> bytes:
    """Return the contents of a tokenizer.json; raise VocabularyError if it cannot hold the vocabulary."""
    steps, ids = _pre_tokenizers(made), number_tokens(made)
    table = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": id, "content": token, **_FLAGS, "special": token not in made.not_special}
            for token, id in ids.added.items()
        ],
        "normalizer": {"type": made.normalizer} if made.normalizer else None,
        "pre_tokenizer": steps[0] if len(steps) == 1 else {"type": "Sequence", "pretokenizers": steps},
        "post_processor": None,
        "decoder": _byte_level(use_regex=False),
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": _ignores_merges(made),
            "vocab": ids.vocab,
            "merges": [f"{written(left)} {written(right)}" for left, right in made.merges],
        },
    }
    return json.dumps(table, ensure_ascii=False, indent=1).encode() + b"\n"


def _ignores_merges(made: ExportVocabulary) -> bool:
    """Return whether a piece may become a token that no merge makes."""
    return made.ignore_merges and len(made.merges) < sum(len(t) > 1 for t in (*made.mergeable_ranks, *made.unmade))


# --- ids -------------------------------------------------------------------------------------------------------------


class Numbered(NamedTuple):
    """The tokens of the model, the added tokens in the order of their ids, and those of them that only fill holes."""

    vocab: dict[str, int]
    added: dict[str, int]
    fillers: frozenset[str] = frozenset()


def number_tokens(made: ExportVocabulary) -> Numbered:
    """Return the tokens of a tokenizer.json; raise VocabularyError if a special token is another token's text.

    The library gives an added token the id that the vocabulary has for it, and else the next one after the
    vocabulary's. So ids without a token are filled: by tokens that no text becomes, and behind the vocabulary by
    special tokens, which readers find in a text that has such a name, `<|unused_id_N|>`: the library numbers added
    tokens without a gap. Where these were too many, all are in the vocabulary.
    """
    vocab = vocabulary(made)
    first: dict[int, str] = {}
    for token, id in made.special_tokens.items():
        if vocab.get(token, id) != id:
            raise VocabularyError(f"special token {token!r} is also how it writes a token of the text")
        first.setdefault(id, token)  # of several names for one id
    special = {token: id for id, token in sorted(first.items())}
    size = max(vocab.values(), default=-1) + 1
    used = {*vocab.values(), *special.values()}
    ends = max(special.values(), default=-1) + 1
    if max(size, ends) - len(used) > _MAX_FILLED:
        return Numbered(vocab | special, special)
    unused = {f"<reserved {id}>": id for id in range(size) if id not in used}  # no byte is a space
    fillers = {f"<|unused_id_{id}|>": id for id in range(size, ends) if id not in used}
    if fillers.keys() & (vocab.keys() | special.keys()):
        return Numbered(vocab | special, special)
    inside = {token: id for token, id in special.items() if id < size}
    added = dict(sorted((special | fillers).items(), key=lambda item: item[1]))
    return Numbered(vocab | unused | inside, added, frozenset(fillers))


# --- patterns --------------------------------------------------------------------------------------------------------


def _pre_tokenizers(made: ExportVocabulary) -> list[dict[str, Any]]:
    """Return the steps that cut text as a pattern does; raise VocabularyError if readers would cut it differently."""
    pattern = made.pat_str
    if pattern == ALL:
        return [_byte_level(use_regex=False)]
    if pattern in _AS_GPT2:
        return [_byte_level(use_regex=True)]
    row = _ROWS.get(pattern) or (_respelled(made),)
    if pattern == known.DEEPSEEK:  # its files have line ends as characters, and readers compare the text
        row = tuple(part.replace(r"\r\n", "\r\n") for part in row)
    as_gpt2 = row[-1] in _AS_GPT2
    return [*map(_split, row[:-1] if as_gpt2 else row), _byte_level(use_regex=as_gpt2)]


def _byte_level(*, use_regex: bool) -> dict[str, Any]:
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": use_regex}


def _split(pattern: str) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


def _respelled(made: ExportVocabulary) -> str:
    if made.pat_str == known.GPT4:
        return known.LLAMA3
    if made.pat_str == known.CL100K:
        # At the end of a text CL100K keeps white space in one piece, which LLAMA3 cuts after its last line end. The ids
        # are the same where merges make all tokens, and none goes on after its last line end: none crosses that place.
        crosses = any(map(_MORE_AFTER_LAST_LINE.search, made.mergeable_ranks))
        return _CL100K if crosses or _ignores_merges(made) else known.LLAMA3
    if made.pat_str not in known.KNOWN_PATTERNS:
        for sign in _NOT_IN_ONIGURUMA:
            if sign in made.pat_str.replace("[^", "["):
                raise VocabularyError(
                    f"the pattern holds {sign!r}, which tokenizers' engine (Oniguruma) interprets differently",
                    "Write the vocabulary as .tiktoken, or train with another pattern.",
                )
    return made.pat_str
