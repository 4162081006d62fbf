"""What there is to say of single tokens: whether they are special, what they score, whether their own text gives them.

Kinds of tokenizers are only imported for an encoding that is one. Vocabularies as a whole are vocab_stats.py's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from tokcli.errors import TokcliError

if TYPE_CHECKING:
    from tokcli.engine.encoding import Encoding
    from tokcli.engine.sentencepiece import SentencePiece


def token_ids(encoding: Encoding) -> list[int]:
    """The ids that there are, special ones too, in order."""
    return sorted(encoding._all_decoder)


def is_special(encoding: Encoding, number: int) -> bool:
    """Whether an id is a special token's, and no other one's."""
    return encoding.is_special_token(number) and (encoding.is_pipeline or number not in encoding._decoder)


def not_self(encoding: Encoding, numbers: Iterable[int]) -> Iterator[tuple[int, list[int]]]:
    """Of some ids those whose own text is encoded as other ids, and as which; special tokens are never asked.

    Bytes that are no text are merged as they are; where a tokenizer takes text only, they are left out.
    """
    special = encoding._special_token_values
    asked = [number for number in numbers if number not in special or not is_special(encoding, number)]
    if encoding.is_pipeline:
        yield from _not_self_of_pipeline(encoding, asked)
        return
    data_of = encoding._all_decoder
    texts: list[str] = []
    of_texts: list[int] = []
    for number in asked:
        data = data_of[number]
        try:
            texts.append(data.decode())
            of_texts.append(number)
        except UnicodeDecodeError:
            ids = encoding.piece_tokens(data)
            if ids != [number]:
                yield number, ids
    ids_of_all, offsets = encoding.encode_array_batch(texts)
    places = offsets.tolist()
    for number, begin, end in zip(of_texts, places, places[1:], strict=False):
        if end - begin != 1 or ids_of_all[begin] != number:
            yield number, ids_of_all[begin:end].tolist()


def _not_self_of_pipeline(encoding: Encoding, numbers: Iterable[int]) -> Iterator[tuple[int, list[int]]]:
    spm = _sentencepiece(encoding)
    for number in numbers:
        if spm is not None and spm.pieces[number].kind in ("byte", "control", "unknown"):
            continue  # no text of its own
        try:
            # of a piece that stands for a space and more, decoding leaves the space out where encoding would add it
            text = encoding.decode_bytes([number]).decode()
        except UnicodeDecodeError:
            continue
        try:
            # the normalizer would put a space before any text
            made = encoding.encode_ordinary(text) if spm is None else spm.encode_normalized(spm.pieces[number].text)
        except TokcliError:  # what the tokenizer cannot encode is not itself
            made = []
        if made != [number]:
            yield number, made


def score_of(encoding: Encoding, number: int) -> float | None:
    """The score by which a model chooses a token; None where it chooses otherwise, and for tokens beside the model."""
    if not encoding.is_pipeline:
        return None
    from tokcli.engine.llama_cpp import LlamaCpp
    from tokcli.engine.pipeline import Pipeline
    from tokcli.engine.unigram import Unigram

    tokenizer = _tokenizer(encoding)
    scores: Sequence[float] = ()
    if (spm := _sentencepiece(encoding)) is not None:
        scores = [piece.score for piece in spm.pieces]
    elif isinstance(tokenizer, Pipeline) and isinstance(tokenizer.model, Unigram):
        scores = [score for _, score in tokenizer.model.pieces]
    elif isinstance(tokenizer, LlamaCpp) and tokenizer.kind in ("llama", "t5"):
        scores = tokenizer.scores
    return scores[number] if number < len(scores) else None


def _tokenizer(encoding: Encoding) -> object:
    """What stands behind an encoding that has rules of its own; None for any other."""
    return getattr(encoding, "whole_tokenizer", None)


def _sentencepiece(encoding: Encoding) -> SentencePiece | None:
    from tokcli.engine.sentencepiece import SentencePiece

    tokenizer = getattr(encoding, "tokenizer", None)  # which is never compiled
    return tokenizer if isinstance(tokenizer, SentencePiece) else None
