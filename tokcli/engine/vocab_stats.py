"""What there is to say of a vocabulary as a whole, and of its tokens one by one; data only, shown elsewhere."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tokcli.engine.llama_cpp import LlamaCpp
from tokcli.engine.pipeline import Pipeline
from tokcli.engine.pipeline_encoding import PipelineEncoding
from tokcli.engine.sentencepiece import SentencePiece
from tokcli.engine.unigram import Unigram
from tokcli.errors import TokcliError

if TYPE_CHECKING:
    from tokcli.engine.encoding import Encoding

# The scripts that vocabularies have letters of; a token counts for that of its first letter.
SCRIPTS = ("Latin", "Han", "Cyrillic", "Arabic", "Greek", "Hebrew", "Hiragana", "Katakana", "Hangul", "Devanagari",
           "Bengali", "Tamil", "Telugu", "Kannada", "Malayalam", "Gujarati", "Gurmukhi", "Oriya", "Sinhala", "Thai",
           "Lao", "Khmer", "Myanmar", "Tibetan", "Georgian", "Armenian", "Ethiopic")  # fmt: skip
NO_LETTER, NOT_UTF8, OTHER = "no letter", "not UTF-8", "other script"


@dataclass
class Stats:
    """Counts over the tokens of a vocabulary, special ones aside; lengths are in bytes."""

    tokens: int = 0
    special: int = 0
    bytes: int = 0
    merges: int = 0
    not_utf8: int = 0
    with_space: int = 0  # that begin with one
    lengths: Counter[int] = field(default_factory=Counter)
    scripts: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)  # of characters: letters, digits, spaces, others


def token_ids(encoding: Encoding) -> list[int]:
    """The ids that there are, special ones too, in order."""
    return sorted(encoding._all_decoder)


def is_special(encoding: Encoding, number: int) -> bool:
    """Whether an id is a special token's, and no other one's."""
    return encoding.is_special_token(number) and (
        isinstance(encoding, PipelineEncoding) or number not in encoding._decoder
    )


def stats_of(encoding: Encoding, merges: int) -> Stats:
    """The counts of a vocabulary with so many merges."""
    import regex

    script = regex.compile("|".join(rf"(?P<{name}>(?=\p{{L}})\p{{{name}}})" for name in SCRIPTS))
    letter = regex.compile(r"\p{L}")
    found = Stats(merges=merges)
    texts: list[str] = []
    for number in token_ids(encoding):
        if is_special(encoding, number):
            found.special += 1
            continue
        data = encoding.decode_single_token_bytes(number)
        found.tokens += 1
        found.bytes += len(data)
        found.with_space += data.startswith(b" ")
        found.lengths[len(data)] += 1
        try:
            text = data.decode()
        except UnicodeDecodeError:
            found.not_utf8 += 1
            found.scripts[NOT_UTF8] += 1
            continue
        texts.append(text)
        if (match := script.search(text)) is not None:
            found.scripts[str(match.lastgroup)] += 1
        else:
            found.scripts[OTHER if letter.search(text) else NO_LETTER] += 1
    joined = "".join(texts)
    for name, pattern in (("letters", r"\p{L}"), ("digits", r"\p{N}"), ("spaces", r"\s")):
        found.kinds[name] = len(regex.findall(pattern, joined))
    found.kinds["others"] = len(joined) - sum(found.kinds.values())
    return found


def not_self(encoding: Encoding, numbers: Iterable[int]) -> Iterator[tuple[int, list[int]]]:
    """Of some ids those whose own text is encoded as other ids, and as which; special tokens are never asked.

    Bytes that are no text are merged as they are; where a tokenizer takes text only, they are left out.
    """
    texts: list[tuple[int, str]] = []
    for number in numbers:
        if is_special(encoding, number):
            continue
        # of a piece that stands for a space and more, decoding leaves the space out where encoding would add it
        data = encoding.decode_bytes([number])
        try:
            texts.append((number, data.decode()))
        except UnicodeDecodeError:
            if not isinstance(encoding, PipelineEncoding):
                ids = encoding._encode_single_piece(data)
                if ids != [number]:
                    yield number, ids
    if isinstance(encoding, PipelineEncoding):
        spm = encoding.tokenizer if isinstance(encoding.tokenizer, SentencePiece) else None
        for number, text in texts:
            if spm is not None and spm.pieces[number].kind in ("byte", "control", "unknown"):
                continue  # no text of its own
            try:
                # the normalizer would put a space before any text
                made = encoding.encode_ordinary(text) if spm is None else spm.encode_normalized(spm.pieces[number].text)
            except TokcliError:  # what the tokenizer cannot encode is not itself
                made = []
            if made != [number]:
                yield number, made
        return
    ids_of_all, offsets = encoding.encode_array_batch([text for _, text in texts])
    for at, (number, _) in enumerate(texts):
        if offsets[at + 1] - offsets[at] != 1 or ids_of_all[offsets[at]] != number:
            yield number, ids_of_all[offsets[at] : offsets[at + 1]].tolist()


def score_of(encoding: Encoding, number: int) -> float | None:
    """The score by which a model chooses a token; None where it chooses otherwise, and for tokens beside the model."""
    tokenizer = encoding.tokenizer if isinstance(encoding, PipelineEncoding) else None
    scores: Sequence[float] = ()
    if isinstance(tokenizer, SentencePiece):
        scores = [piece.score for piece in tokenizer.pieces]
    elif isinstance(tokenizer, Pipeline) and isinstance(tokenizer.model, Unigram):
        scores = [score for _, score in tokenizer.model.pieces]
    elif isinstance(tokenizer, LlamaCpp) and tokenizer.kind in ("llama", "t5"):
        scores = tokenizer.scores
    return scores[number] if number < len(scores) else None


@dataclass(frozen=True)
class Difference:
    """Two vocabularies, token by token: rows are (token, id in A, id in B), None where there is none."""

    shared: int
    same_id: int
    only_a: list[tuple[bytes, int, None]]
    only_b: list[tuple[bytes, None, int]]
    shifted: list[tuple[bytes, int, int]]


def difference(a: Mapping[bytes, int], b: Mapping[bytes, int]) -> Difference:
    """What two vocabularies (token -> id) share and what not, each in the order of the ids.

    >>> difference({b"a": 0, b"b": 1, b"c": 2}, {b"a": 0, b"b": 2, b"d": 1}).shifted
    [(b'b', 1, 2)]
    """
    shared = [(token, number, b[token]) for token, number in a.items() if token in b]
    shifted = sorted((row for row in shared if row[1] != row[2]), key=lambda row: row[1])
    only_a: list[tuple[bytes, int, None]] = [(token, number, None) for token, number in a.items() if token not in b]
    only_b: list[tuple[bytes, None, int]] = [(token, None, number) for token, number in b.items() if token not in a]
    return Difference(
        len(shared),
        len(shared) - len(shifted),
        sorted(only_a, key=lambda row: row[1]),
        sorted(only_b, key=lambda row: row[2]),
        shifted,
    )


def byte_order(encoding: Encoding) -> array[int]:
    """The id of each byte (minbpe's GPT4Tokenizer calls it `byte_shuffle`); KeyError where a byte is no token."""
    return array("I", (encoding.encode_single_token(bytes([value])) for value in range(256)))
