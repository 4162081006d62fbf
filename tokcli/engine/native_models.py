"""Makes the native twins of tokenizers from their tables: see native_text.py. None for those that only Python can do.

What is said here of a native model's methods stands in _native.pyi.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tokcli.engine import backend
from tokcli.engine.charsmap import Charsmap
from tokcli.engine.models import byte_token
from tokcli.engine.native_text import Learn, Learned, NativeText
from tokcli.engine.spm_normalizer import SPACE, SpmNormalizer

if TYPE_CHECKING:
    from tokcli.engine.sentencepiece import SentencePiece

NOTHING = 0xFFFFFFFF  # kNothing
WHOLE, AT_SPACES, WHERE_POSSIBLE = range(3)  # Words
EACH_WORD, SUMS_32, SUMS_64 = range(3)  # Kind
NEVER, ALWAYS, FIRST = range(3)  # Prefix
PREPEND, REPLACE, SQUEEZE, CHARS, STRIP, SPACES = range(6)  # Step::Kind
_LONGEST = 1 << 20  # characters of a token that a native table takes


def guarded(make: Callable[[], NativeText | None]) -> NativeText | None:
    """What `make` gives; None without a native backend, and where a table does not fit into the native one."""
    if backend.native() is None:
        return None
    try:
        return make()
    except (ValueError, OverflowError, TypeError):  # UnicodeEncodeError is a ValueError
        return None


def model_of(ids: Mapping[str, int]) -> Any:
    """A native model with these tokens, which still has to be told what to do with them."""
    native = backend.native()
    assert native is not None
    texts = list(map(str.encode, ids))
    return native.TextModel(b"".join(texts), array("I", map(len, texts)), array("I", ids.values()))


def orders_of(scores: Sequence[float]) -> array[int]:
    """Numbers that ascend where scores descend, equal for equal ones."""
    if not all(map(math.isfinite, scores)):
        raise ValueError("a score that is no number")
    order = {score: number for number, score in enumerate(sorted(set(scores), reverse=True))}
    return array("I", map(order.__getitem__, scores))


def byte_ids(ids: Mapping[str, int]) -> array[int]:
    """The id of each byte's token, NOTHING where there is none."""
    return array("I", [ids.get(byte_token(byte), NOTHING) for byte in range(256)])


# --- SentencePiece ---------------------------------------------------------------------------------------------------


def sentencepiece(model: SentencePiece) -> NativeText | None:
    """The twin of a SentencePiece model."""
    pieces, ids = model.pieces, dict(model._ids)
    unused = [text for number, (text, _, kind) in enumerate(pieces) if kind == "unused" and ids.get(text) == number]
    if model.model_type == "bpe" and any(len(text) > 1 for text in unused):
        return None  # what such a piece was merged from is taken again
    for text in unused:
        del ids[text]
    made = model_of(ids)
    by_bytes = array("I", [model._bytes.get(byte, NOTHING) for byte in range(256)] if model.byte_fallback else [])
    made.set_unknown(model._unknown if model._unknown >= 0 else NOTHING, by_bytes, not model.byte_fallback)
    made.set_kept([text.encode() for text in model.normalizer.kept])
    if model.model_type == "bpe":
        kept = bytes(text in model.normalizer.kept for text in ids)
        made.use_pieces(orders_of([pieces[number].score for number in ids.values()]), kept)
    elif model.model_type == "unigram":
        scores = model._scores
        if not all(map(math.isfinite, scores.values())) or not math.isfinite(model._unknown_score):
            return None
        made.use_unigram(array("d", [scores[text] for text in ids]), model._unknown_score, SUMS_32)
    else:
        made.use_whole(model.model_type == "char")
    words = {"word": AT_SPACES, "char": WHOLE}.get(model.model_type, WHERE_POSSIBLE)
    made.set_words(words, SPACE.encode(), False)
    _set_spaces(made, model.normalizer)
    return NativeText(made)


def _set_spaces(made: Any, settings: SpmNormalizer) -> None:
    charsmap = settings.charsmap
    made.set_spaces(
        charsmap.units,
        charsmap.texts,
        settings.add_dummy_prefix,
        settings.remove_extra_whitespaces,
        settings.whitespace_as_suffix,
        False,
        (SPACE if settings.escape_whitespaces else " ").encode(),
    )


# --- llama.cpp -------------------------------------------------------------------------------------------------------


def llama_pieces(ids: Mapping[str, int], scores: Sequence[float], byte_ids: Sequence[int | None]) -> NativeText:
    """The twin of llama.cpp's SPM."""
    made = model_of(ids)
    made.set_unknown(NOTHING, array("I", [NOTHING if number is None else number for number in byte_ids]), False)
    made.use_pieces(orders_of([scores[number] for number in ids.values()]), bytes(len(ids)))
    made.set_words(WHERE_POSSIBLE, SPACE.encode(), False)
    made.add_step(REPLACE, b" ", SPACE.encode(), False, False)
    return NativeText(made)


def llama_words(ids: Mapping[str, int], unknown: int, rule: Callable[[str], str]) -> NativeText:
    """The twin of llama.cpp's BERT; `rule` says what a character becomes, with spaces where words end."""
    made = model_of(ids)
    made.set_unknown(unknown, b"", False)
    made.use_word_piece(b"", 1 << 31)
    made.set_words(WHOLE, SPACE.encode(), False)
    made.set_metaspace(False, True, ALWAYS)
    made.add_step(CHARS, b"", b"", False, False)
    made.use_classes()
    learn = learner_of_words(rule)
    made.learn(*learn(list(range(128)), list(range(128)), []))
    return NativeText(made, learn)


def learner_of_words(rule: Callable[[str], str]) -> Learn:
    """What llama.cpp's BERT asks of a character."""
    from tokcli.engine import splitters as split
    from tokcli.engine.character_rules import Groups
    from tokcli.engine.matching import Literal

    groups = Groups([split.Split(Literal(" "), "Removed")])

    def learn(chars: list[int], unclassed: list[int], runs: list[bytes]) -> Learned:
        del runs
        return {c: rule(chr(c)).encode() for c in chars}, {c: groups.value(chr(c)) for c in unclassed}, {}

    return learn


def llama_unigram(
    tokens: Mapping[str, tuple[float, int]],
    unknown: tuple[float, int],
    charsmap: Charsmap,
    kept: Sequence[str],
    flags: tuple[bool, bool],
) -> NativeText | None:
    """The twin of llama.cpp's T5; `flags`: whether a space is put first, and whether spaces are trimmed."""
    scores = [score for score, _ in tokens.values()]
    if not all(map(math.isfinite, [*scores, unknown[0]])):
        return None
    made = model_of({text: number for text, (_, number) in tokens.items()})
    made.set_unknown(unknown[1], b"", True)
    made.set_kept([text.encode() for text in kept])
    made.use_unigram(array("d", scores), unknown[0], SUMS_64)
    made.set_words(WHERE_POSSIBLE, SPACE.encode(), False)
    made.set_spaces(charsmap.units, charsmap.texts, *flags, False, True, SPACE.encode())
    return NativeText(made)
