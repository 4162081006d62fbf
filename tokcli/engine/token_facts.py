"""What there is to say of single tokens: whether they are special, what they score, whether their own text gives them.

Kinds of tokenizers are only imported for an encoding that is one. Vocabularies as a whole are vocab_stats.py's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from tokcli.errors import TokcliError

if TYPE_CHECKING:
    from tokcli.engine.encoding import Encoding
    from tokcli.engine.sentencepiece import SentencePiece
    from tokcli.engine.shortcut import Shortcut


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
    try:
        ids_of_all, offsets = encoding.encode_array_batch(texts)
    except TokcliError:  # the pattern leaves some of it out
        for number, ids in zip(of_texts, _one_by_one(texts, encoding.encode_ordinary), strict=True):
            if ids != [number]:
                yield number, ids
        return
    places = offsets.tolist()
    for number, begin, end in zip(of_texts, places, places[1:], strict=False):
        if end - begin != 1 or ids_of_all[begin] != number:
            yield number, ids_of_all[begin:end].tolist()


def _not_self_of_pipeline(encoding: Encoding, numbers: Iterable[int]) -> Iterator[tuple[int, list[int]]]:
    spm = _sentencepiece(encoding)
    texts: dict[int, str] = {}
    for number in numbers:
        if spm is None:
            # of a piece that stands for a space and more, decoding leaves the space out where encoding would add it
            with suppress(UnicodeDecodeError):
                texts[number] = encoding.decode_bytes([number]).decode()
        elif spm.pieces[number].kind not in ("byte", "control", "unknown"):  # they have no text of their own
            texts[number] = spm.pieces[number].text
    if spm is not None:  # the normalizer would put a space before any text
        all_made = _one_by_one(list(texts.values()), spm.encode_normalized)
    else:
        try:
            all_made = encoding.encode_ordinary_batch(list(texts.values()))
        except TokcliError:
            all_made = _one_by_one(list(texts.values()), encoding.encode_ordinary)
    for number, made in zip(texts, all_made, strict=True):
        if made != [number]:
            yield number, made


def _one_by_one(texts: list[str], encode: Callable[[str], list[int]]) -> list[list[int]]:
    """The ids of each text; none of what cannot be encoded, which is not itself."""
    found: list[list[int]] = []
    for text in texts:
        try:
            found.append(encode(text))
        except TokcliError:
            found.append([])
    return found


def scores_of(encoding: Encoding) -> Sequence[float]:
    """The scores by which a model chooses its tokens, by id; none where it chooses otherwise."""
    tokenizer = _whole(encoding)
    if tokenizer is None:
        return ()
    from tokcli.engine.llama_cpp import LlamaCpp
    from tokcli.engine.pipeline import Pipeline
    from tokcli.engine.unigram import Unigram

    if (spm := _sentencepiece(encoding)) is not None:
        return [piece.score for piece in spm.pieces]
    if isinstance(tokenizer, Pipeline) and isinstance(tokenizer.model, Unigram):
        return [score for _, score in tokenizer.model.pieces]
    if isinstance(tokenizer, LlamaCpp) and tokenizer.kind in ("llama", "t5"):
        return tokenizer.scores
    return ()


def kinds_of(encoding: Encoding) -> dict[int, str]:
    """What a file calls its tokens beside the usual ones, by id: special or added.

    Of SentencePiece and GGUF: control, unknown, user-defined, unused or byte.
    """
    if (shortcut := _shortcut(encoding)) is not None:
        special = encoding.special_tokens_set
        return {number: "special" if text in special else "added" for text, number in shortcut.added.items()}
    tokenizer = _whole(encoding)
    if tokenizer is None:
        return {}
    from tokcli.engine import llama_cpp as gguf
    from tokcli.engine.pipeline import Pipeline

    if (spm := _sentencepiece(encoding)) is not None:
        named = ((number, piece.kind.replace("_", "-")) for number, piece in enumerate(spm.pieces))
        return {number: kind for number, kind in named if kind != "normal"}
    if isinstance(tokenizer, Pipeline):
        return {token.id: "special" if token.special else "added" for token in tokenizer.added}
    if isinstance(tokenizer, gguf.LlamaCpp):
        names = ((gguf.UNKNOWN, "unknown"), (gguf.CONTROL, "control"), (gguf.USER_DEFINED, "user-defined"),
                 (gguf.UNUSED, "unused"), (gguf.BYTE, "byte"))  # fmt: skip
        called = ((n, next((name for bit, name in names if kind & bit), "")) for n, kind in enumerate(tokenizer.kinds))
        return {number: name for number, name in called if name}
    return {}


def _shortcut(encoding: Encoding) -> Shortcut | None:
    """The ranks by which a tokenizer merges; None where it has none, or is no tokenizer with rules of its own."""
    return getattr(getattr(encoding, "tokenizer", None), "shortcut", None)


def _whole(encoding: Encoding) -> object:
    """The tokenizer behind an encoding, with all that its file says; None where there is none, or ranks do its work."""
    return None if _shortcut(encoding) is not None else getattr(encoding, "whole_tokenizer", None)


def _sentencepiece(encoding: Encoding) -> SentencePiece | None:
    from tokcli.engine.sentencepiece import SentencePiece

    tokenizer = _whole(encoding)
    return tokenizer if isinstance(tokenizer, SentencePiece) else None
