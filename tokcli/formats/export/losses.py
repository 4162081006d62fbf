"""Decides whether another format can hold an encoding; a format that would lose something is refused.

An exported file gives, in the library that reads it, the ids that `encode` gives here for every text. What does not
change these ids (templates, versions of Unicode) may be left out, and a note says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tokcli.engine.bpe.bpe import Ranks
from tokcli.engine.encoding import Encoding
from tokcli.engine.pretokenizers import known_patterns as known
from tokcli.engine.pretokenizers.pretokenizer import ALL
from tokcli.engine.text_tokenizer import TextTokenizer
from tokcli.errors import VocabularyError
from tokcli.formats.export import writers
from tokcli.formats.export.tokenizer_json import format_huggingface, number_tokens
from tokcli.formats.export.writers import ExportVocabulary

FORMS = ("tiktoken", "gpt2", "huggingface", "minbpe")
_GPT2_PATTERNS = (known.R50K, known.GPT2, known.GPT2_EDUCATIONAL)
ADVICE = {  # to who reads the files of a format with its own library
    "tiktoken": "the pattern and the special tokens are in FILE.json beside it; pass them to tiktoken.",
    "minbpe": "minbpe's load() does not read the pattern: make the RegexTokenizer with this one.",
}
_LISTED = 3  # tokens that a message lists
_SHOWN = 24  # bytes of a token in a message


@dataclass(frozen=True)
class Contents:
    """An encoding as tables (`made`: ranks and a pattern), and the rules that these tables cannot express."""

    made: ExportVocabulary
    losses: list[str] = field(default_factory=list)  # rules that no format holds
    notes: list[str] = field(default_factory=list)


def export(encoding: Encoding, form: str) -> tuple[ExportVocabulary, list[str]]:
    """Return the tables to write, and notes on what is left out; a VocabularyError lists what the format would lose."""
    contents = contents_of(encoding)
    if losses := contents.losses or _losses(contents.made, form):
        others = [] if contents.losses else [other for other in FORMS if not _losses(contents.made, other)]
        hint = f"It can be written as {' or '.join(others)}." if others else "No format that tokcli writes can hold it."
        rules = encoding.tokenizer.rules
        if form == "huggingface" and rules is not None and rules.is_tokenizer_json:
            hint = "The file is a tokenizer.json already: copy it."
        raise VocabularyError(f"{encoding.name} as {form} would lose {'; '.join(losses)}", hint)
    return contents.made, [*contents.notes, *_notes(contents.made, form)]


def contents_of(encoding: Encoding) -> Contents:
    """Return the tables of an encoding, or the reasons why ranks and a pattern cannot express it."""
    rules = encoding.tokenizer.rules
    if rules is not None:
        return _contents_of_rules(encoding, rules)
    ranks = encoding._mergeable_ranks
    made = ExportVocabulary(
        ranks, _merges(encoding, ranks), encoding._pat_str, encoding._special_tokens, ignore_merges=True
    )
    return Contents(made)


def _contents_of_rules(encoding: Encoding, rules: TextTokenizer) -> Contents:
    text_ranks = rules.text_ranks
    if (as_ranks := rules.as_ranks()) is not None:
        ranks, pairs = as_ranks
        token = rules.token_bytes()
        merges = [(token[left], token[right]) for left, right in pairs]
        return Contents(ExportVocabulary(ranks, merges, rules.single_pattern or ALL, rules.special_tokens))
    if text_ranks is None or text_ranks.spec.puts_space:
        return Contents(ExportVocabulary({}, [], "", {}), rules.why_no_ranks())
    added = set(text_ranks.special_tokens.values())
    ranks = {token: rank for token, rank in text_ranks.mergeable_ranks.items() if rank not in added}
    taken = {*ranks.values(), *added}
    notes = rules.notes_on_ranks()
    if rules.has_template:
        notes.append("the template of special tokens is left out.")
    made = ExportVocabulary(
        ranks,
        _merges(encoding, ranks),
        text_ranks.pretokenizer.pat_str,
        text_ranks.special_tokens,
        unmade={token: id for id, token in encoding.tokenizer.token_bytes().items() if id not in taken},
        ignore_merges=rules.ignore_merges,
        normalizer=text_ranks.spec.form,
        not_special=frozenset(text_ranks.special_tokens.keys() - rules.special_tokens.keys()),
    )
    return Contents(made, notes=notes)


def _merges(encoding: Encoding, ranks: Ranks) -> list[tuple[bytes, bytes]]:
    tokens = {rank: token for token, rank in ranks.items()}
    merges = encoding.tokenizer.all_parents().in_order()
    return [(tokens[left], tokens[right]) for made, left, right in merges if made in tokens]


# --- formats ---------------------------------------------------------------------------------------------------------


def _losses(made: ExportVocabulary, form: str) -> list[str]:
    """Return what a format would lose of the tables of an encoding, one phrase for each loss."""
    shared = [] if form == "huggingface" else _second_names(made)
    check: Callable[[ExportVocabulary], list[str]] = {
        "tiktoken": _lost_in_ranks,
        "minbpe": _lost_in_minbpe,
        "gpt2": _lost_in_gpt2,
        "huggingface": _lost_in_huggingface,
    }[form]
    return [loss for loss in (_tokens("special tokens with the id of another", shared), *check(made)) if loss]


def _lost_in_ranks(made: ExportVocabulary) -> list[str]:
    return [
        _normalizer(made),
        _tokens("tokens that only a whole piece becomes", list(made.unmade) if made.ignore_merges else []),
    ]


def _lost_in_gpt2(made: ExportVocabulary) -> list[str]:
    return [
        "" if made.pat_str in _GPT2_PATTERNS else "its pattern (readers take GPT-2's)",
        _normalizer(made),
        *_unwritable(made),
        _tokens("tokens that no merge makes", _without_merge(made)),
        _tokens("tokens beside those of merges", list(made.unmade)),
        _tokens("added tokens that are found in any text", _texts(made.not_special)),
        _tokens("tokens made of one with a higher id", _made_of_later(made)),
        _tokens("special tokens that do not look like <...> or [...]",
                [n.encode() for n in made.special_tokens if not _looks_special(n)]),
        _said_by_writer(lambda: writers.format_gpt2(made)),
    ]  # fmt: skip


def _lost_in_huggingface(made: ExportVocabulary) -> list[str]:
    return [*_unwritable(made), _said_by_writer(lambda: format_huggingface(made))]


def _lost_in_minbpe(made: ExportVocabulary) -> list[str]:
    ranks = made.mergeable_ranks
    ids = sorted(ranks.values())
    moved = [token for token, rank in ranks.items() if len(token) == 1 and rank != token[0]]
    structure = [
        f"the order of the bytes, {len(moved)} of which have ids other than their values, as in GPT-4's tokenizer, "
        "which minbpe cannot save either" if moved else "",
        "" if ids == list(range(len(ids))) else "ids with gaps between them",
        _tokens("tokens that no merge makes", _without_merge(made)),
        _tokens("tokens made of one with a higher id", _made_of_later(made)),
        _tokens("special tokens with ids below those of merges",
                [n.encode() for n, id in made.special_tokens.items() if id < len(ids)]),
    ]  # fmt: skip
    lost = [*_lost_in_ranks(made), *structure]
    return lost if any(lost) else [_said_by_writer(lambda: writers.format_minbpe(made))]


def _normalizer(made: ExportVocabulary) -> str:
    return f"its normalizer ({made.normalizer})" if made.normalizer else ""


def _unwritable(made: ExportVocabulary) -> list[str]:
    """Return what a vocabulary of texts cannot hold: the empty token, and bytes without a token."""
    ranks = made.mergeable_ranks
    missing = [bytes([value]) for value in range(256) if bytes([value]) not in ranks]
    return [
        f"the empty token, id {ranks[b'']}" if b"" in ranks else "",
        _tokens("bytes without a token, which its readers would drop silently", missing),
    ]


def _without_merge(made: ExportVocabulary) -> list[bytes]:
    found = {left + right for left, right in made.merges}
    return [token for token in made.mergeable_ranks if len(token) > 1 and token not in found]


def _made_of_later(made: ExportVocabulary) -> list[bytes]:
    ranks = made.mergeable_ranks
    return [left + right for left, right in made.merges if max(ranks[left], ranks[right]) > ranks[left + right]]


def _second_names(made: ExportVocabulary) -> list[bytes]:
    """Return the special tokens that have the id of one before them."""
    first: dict[int, str] = {}
    return [name.encode() for name, id in made.special_tokens.items() if first.setdefault(id, name) != name]


def _looks_special(name: str) -> bool:
    return (name.startswith("<") and name.endswith(">")) or (name.startswith("[") and name.endswith("]"))


def _said_by_writer(write: Callable[[], object]) -> str:
    try:
        write()
    except VocabularyError as error:
        return f"something ({error})"
    return ""


def _notes(made: ExportVocabulary, form: str) -> list[str]:
    notes = [ADVICE[form]] if form in ADVICE else []
    if form == "tiktoken" and made.not_special:
        found = _tokens("tokens that are found in any text become special tokens", _texts(made.not_special))
        notes.append(f"{found}.")
    if form == "huggingface":
        left_out = _tokens("special tokens with the id of another are left out", _second_names(made))
        filling = _tokens("special tokens fill ids that no token has", _texts(number_tokens(made).fillers))
        notes += [f"{note}." for note in (left_out, filling) if note]
    if made.unmade and form in ("tiktoken", "minbpe"):
        notes.append(f"{_tokens('tokens that no text is encoded as are left out', list(made.unmade))}.")
    return notes


def _texts(names: frozenset[str]) -> list[bytes]:
    return [name.encode() for name in sorted(names)]


def _tokens(what: str, tokens: list[bytes]) -> str:
    """Return a phrase that counts tokens and lists a few of them; "" if there are none."""
    if not tokens:
        return ""
    shown = ", ".join(ascii(token[:_SHOWN].decode("utf-8", "backslashreplace")) for token in tokens[:_LISTED])
    return f"{len(tokens)} {what} ({shown}{', ...' * (len(tokens) > _LISTED)})"
