"""What of an encoding another format can hold, and what of it would be lost, which is then refused.

Whatever is written gives, in the library that it is for, the ids that `encode` gives here for every text; what stands
beside the ids (templates, versions of Unicode) may be left out, and a note says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tokcli.engine import known_patterns as known
from tokcli.engine.bpe import Ranks
from tokcli.engine.compiled import whole_of
from tokcli.engine.encoding import Encoding
from tokcli.engine.llama_cpp import LlamaCpp
from tokcli.engine.merges import merges_of
from tokcli.engine.minbpe import MinBpe
from tokcli.engine.models import WordLevel, WordPiece
from tokcli.engine.normalizer import UnicodeForm
from tokcli.engine.pair_bpe import PairBpe
from tokcli.engine.pipeline import Pipeline, Tokenizer
from tokcli.engine.pipeline_encoding import PipelineEncoding
from tokcli.engine.ranked import ranks_of_pairs
from tokcli.engine.sentencepiece import SentencePiece
from tokcli.engine.unigram import Unigram
from tokcli.errors import VocabularyError
from tokcli.formats import writers
from tokcli.formats.writers import Made

FORMS = ("tiktoken", "gpt2", "huggingface", "minbpe")
_GPT2_PATTERNS = (known.R50K, known.GPT2, known.GPT2_EDUCATIONAL)
_LISTED = 3  # examples in a message
_SHOWN = 24  # bytes of one


@dataclass(frozen=True)
class Contents:
    """An encoding as tables: `made` as ranks and a pattern say it, and by what its ids come about beyond that."""

    made: Made
    losses: list[str] = field(default_factory=list)  # which no format holds
    notes: list[str] = field(default_factory=list)


def export(encoding: Encoding, form: str) -> tuple[Made, list[str]]:
    """What is written, and notes about what the format has no place for; VocabularyError lists what would be lost."""
    contents = contents_of(encoding)
    if losses := contents.losses or _losses(contents.made, form):
        others = [] if contents.losses else [other for other in FORMS if not _losses(contents.made, other)]
        hint = f"It can be written as {' or '.join(others)}." if others else "No format that is written here holds it."
        if (
            form == "huggingface"
            and isinstance(encoding, PipelineEncoding)
            and isinstance(whole_of(encoding.tokenizer), Pipeline)
        ):
            hint = "It is a tokenizer.json already: copy the file."
        raise VocabularyError(f"{encoding.name} as {form} would lose {'; '.join(losses)}", hint)
    return contents.made, [*contents.notes, *_notes(contents.made, form)]


def contents_of(encoding: Encoding) -> Contents:
    """The tables of an encoding, or why ranks and a pattern are not all of it."""
    if isinstance(encoding, PipelineEncoding):
        return _contents_of_pipeline(encoding, whole_of(encoding.tokenizer))
    ranks = encoding._mergeable_ranks
    made = Made(ranks, _merges(encoding, ranks), encoding._pat_str, encoding._special_tokens, finds_whole=True)
    return Contents(made)


def _merges(encoding: Encoding, ranks: Ranks) -> list[tuple[bytes, bytes]]:
    tokens = {rank: token for token, rank in ranks.items()}
    merges = merges_of(encoding).in_order()
    return [(tokens[left], tokens[right]) for made, left, right in merges if made in tokens]


# --- tokenizers with rules of their own ------------------------------------------------------------------------------


def _contents_of_pipeline(encoding: PipelineEncoding, tokenizer: Tokenizer) -> Contents:
    shortcut = tokenizer.shortcut
    if isinstance(tokenizer, MinBpe) and (ranks := ranks_of_pairs(tokenizer.pairs)) is not None:
        tokens = tokenizer.tokens
        merges = [(tokens[left], tokens[right]) for left, right in tokenizer.pairs]
        pattern = tokenizer.pattern or writers.WHOLE_TEXT
        return Contents(Made(ranks, merges, pattern, tokenizer.special_tokens))
    if shortcut is None:
        return Contents(Made({}, [], "", {}), _why_no_ranks(tokenizer))
    added, notes = set(shortcut.added.values()), []
    ranks = {token: rank for token, rank in shortcut.load_ranks().items() if rank not in added}
    taken = {*ranks.values(), *added}
    rest = {token: number for number, token in encoding._token_bytes.items() if number not in taken}
    if isinstance(tokenizer, LlamaCpp):
        notes.append("llama.cpp has the tables of Unicode 15.1: it splits at what is newer in another way.")
    if tokenizer.has_template:
        notes.append("the template of special tokens (--add-special-tokens) is left out.")
    normalizer = tokenizer.normalizer if isinstance(tokenizer, Pipeline) else None
    return Contents(
        Made(
            ranks,
            _merges(encoding, ranks),
            shortcut.pat_str,
            shortcut.added,
            unmade=rest,
            finds_whole=_finds_whole(tokenizer),
            normalizer=normalizer.form if isinstance(normalizer, UnicodeForm) else None,
            not_special=frozenset(shortcut.added.keys() - tokenizer.special_tokens.keys()),
        ),
        notes=notes,
    )


def _finds_whole(tokenizer: Tokenizer) -> bool:
    """Whether a piece that is a token is found before anything merges."""
    if isinstance(tokenizer, Pipeline):
        return isinstance(tokenizer.model, PairBpe) and tokenizer.model.ignore_merges
    return isinstance(tokenizer, LlamaCpp) and tokenizer.pre is not None and tokenizer.pre.ignore_merges


def _why_no_ranks(tokenizer: Tokenizer) -> list[str]:
    """What ranks and a pattern do not say of a tokenizer."""
    if isinstance(tokenizer, Pipeline):
        return _why_no_ranks_of_pipeline(tokenizer)
    if isinstance(tokenizer, SentencePiece):
        scores = tokenizer.model_type in ("bpe", "unigram")
        return [
            f"its scores (a SentencePiece model of type {tokenizer.model_type})"
            if scores
            else f"its model (SentencePiece's {tokenizer.model_type})",
            "its normalizer and the spaces that it adds",
            "pieces of characters, where ranks are of bytes",
        ]
    if isinstance(tokenizer, LlamaCpp):
        model = {"llama": "scores", "bert": "WordPiece model", "t5": "Unigram scores", "rwkv": "longest-token model"}
        return [f"its {model.get(tokenizer.kind, 'pre-tokenizer, merges or added tokens, which ranks do not hold')}"]
    if isinstance(tokenizer, MinBpe):
        return ["ids that stand for the same bytes, of which ranks hold one"]
    return ["its rules"]


def _why_no_ranks_of_pipeline(tokenizer: Pipeline) -> list[str]:
    model = tokenizer.model
    if isinstance(model, Unigram):
        return ["its scores (Unigram)"]
    if isinstance(model, WordPiece | WordLevel):
        return [f"its model ({type(model).__name__}), which has no merges"]
    lost = []
    if tokenizer.normalizer is not None and not isinstance(tokenizer.normalizer, UnicodeForm):
        lost.append(f"its normalizer ({type(tokenizer.normalizer).__name__})")
    if tokenizer.pat_str is None:
        lost.append("its pre-tokenizer, which is no single pattern that is known here")
    if any(token.single_word or token.lstrip or token.rstrip for token in tokenizer.added):
        lost.append("what its added tokens take with them (single_word, lstrip, rstrip)")
    if isinstance(model, PairBpe) and not model.is_plain:
        lost.append("the prefix or suffix of its tokens")
    return lost or ["the order of its merges, which is not that of the ids"]


# --- formats ---------------------------------------------------------------------------------------------------------


def _losses(made: Made, form: str) -> list[str]:
    """What of tables a format does not hold."""
    shared = [name.encode() for name, number in made.special_tokens.items() if _first(made, number) != name]
    check: Callable[[Made], list[str]] = {
        "tiktoken": _lost_in_ranks,
        "minbpe": _lost_in_minbpe,
        "gpt2": _lost_in_gpt2,
        "huggingface": _lost_in_huggingface,
    }[form]
    return [loss for loss in (_tokens("special tokens with the id of another", shared), *check(made)) if loss]


def _lost_in_ranks(made: Made) -> list[str]:
    return [
        _normalizer(made),
        _tokens("tokens that only a whole piece becomes", list(made.unmade) if made.finds_whole else []),
    ]


def _lost_in_gpt2(made: Made) -> list[str]:
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


def _lost_in_huggingface(made: Made) -> list[str]:
    return [*_unwritable(made), _said_by_writer(lambda: writers.format_huggingface(made))]


def _lost_in_minbpe(made: Made) -> list[str]:
    ranks = made.mergeable_ranks
    numbers = sorted(ranks.values())
    moved = [token for token, rank in ranks.items() if len(token) == 1 and rank != token[0]]
    structure = [
        f"the order of the bytes, {len(moved)} of which have ids other than their values, as in GPT-4's tokenizer, "
        "which minbpe cannot save either" if moved else "",
        "" if numbers == list(range(len(numbers))) else "ids with gaps between them",
        _tokens("tokens that no merge makes", _without_merge(made)),
        _tokens("tokens made of one with a higher id", _made_of_later(made)),
        _tokens("special tokens with ids below those of merges",
                [n.encode() for n, number in made.special_tokens.items() if number < len(numbers)]),
    ]  # fmt: skip
    lost = [*_lost_in_ranks(made), *structure]
    return lost if any(lost) else [_said_by_writer(lambda: writers.format_minbpe(made))]


def _normalizer(made: Made) -> str:
    return f"its normalizer ({made.normalizer})" if made.normalizer else ""


def _unwritable(made: Made) -> list[str]:
    """What vocabularies of text do not hold: an empty token, and bytes that are none, which the readers leave out."""
    ranks = made.mergeable_ranks
    missing = [bytes([value]) for value in range(256) if bytes([value]) not in ranks]
    return [
        f"the empty token, id {ranks[b'']}" if b"" in ranks else "",
        _tokens("bytes that are no token, which would be left out of texts unseen", missing),
    ]


def _without_merge(made: Made) -> list[bytes]:
    found = {left + right for left, right in made.merges}
    return [token for token in made.mergeable_ranks if len(token) > 1 and token not in found]


def _made_of_later(made: Made) -> list[bytes]:
    ranks = made.mergeable_ranks
    return [left + right for left, right in made.merges if max(ranks[left], ranks[right]) > ranks[left + right]]


def _first(made: Made, number: int) -> str:
    """Of special tokens with the same id the first."""
    return next(name for name, other in made.special_tokens.items() if other == number)


def _looks_special(name: str) -> bool:
    return (name.startswith("<") and name.endswith(">")) or (name.startswith("[") and name.endswith("]"))


def _said_by_writer(write: Callable[[], object]) -> str:
    try:
        write()
    except VocabularyError as error:
        return f"something ({error.what})"
    return ""


def _notes(made: Made, form: str) -> list[str]:
    notes = []
    if form == "tiktoken":
        notes.append("the pattern and the special tokens stand in FILE.json beside it, which tiktoken is to be told.")
        if made.not_special:
            found = _tokens(
                "tokens that are found in any text there, and here become special", _texts(made.not_special)
            )
            notes.append(f"{found}.")
    if form == "minbpe":
        notes.append("minbpe's load() keeps the pattern that RegexTokenizer was made with: give it this one.")
    if made.unmade and form in ("tiktoken", "minbpe"):
        notes.append(f"{_tokens('tokens that no text becomes are left out', list(made.unmade))}.")
    return notes


def _texts(names: frozenset[str]) -> list[bytes]:
    return [name.encode() for name in sorted(names)]


def _tokens(what: str, tokens: list[bytes]) -> str:
    """What happens to how many tokens, with a few of them; nothing where there are none."""
    if not tokens:
        return ""
    shown = ", ".join(ascii(token[:_SHOWN].decode("utf-8", "backslashreplace")) for token in tokens[:_LISTED])
    return f"{len(tokens)} {what} ({shown}{', ...' * (len(tokens) > _LISTED)})"
