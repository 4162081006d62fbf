"""SentencePiece's .model files: a protobuf message with the pieces, the settings and the normalizer's rules.

A folder's configuration may say that its model is XLM-RoBERTa's, whose ids are shifted, or which tokens go around a
text. (Source: sentencepiece_model.proto of google/sentencepiece; transformers 5.24, `update_post_processor`.)
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, cast

from tokcli.engine.bpe.byte_alphabet import byte_token
from tokcli.engine.sentencepiece.charsmap import Charsmap
from tokcli.engine.spec.added_token import AddedToken
from tokcli.engine.spec.decoders import SentencePieceDecoder
from tokcli.engine.spec.models import ModelType, PieceKind, SentencePieceModel, SpmPiece
from tokcli.engine.spec.normalizers import SentencePieceNormalizer
from tokcli.engine.spec.spec import TokenizerSpec
from tokcli.engine.spec.templates import Around
from tokcli.errors import VocabularyError
from tokcli.formats.limits import MAX_PIECE_CHARS, MAX_TOKENS
from tokcli.formats.protobuf import ProtobufField, ProtobufReader
from tokcli.formats.refusals import shown_text
from tokcli.formats.sources import XLM_ROBERTA
from tokcli.formats.strict_json import parse_json_strictly

# The enumerations of sentencepiece_model.proto, by number.
_KINDS: dict[int, PieceKind] = {1: "normal", 2: "unknown", 3: "control", 4: "user_defined", 5: "unused", 6: "byte"}
_MODEL_TYPES: dict[int, ModelType] = {1: "unigram", 2: "bpe", 3: "word", 4: "char"}
_NULL = "\0"
_PIECE_HEAD = struct.Struct("4B")  # the tag of a piece, its size, the tag of its text, the size of the text
_SCORED = struct.Struct("<Bf")


class _Trained(NamedTuple):
    """The members of TrainerSpec that encoding needs, with their defaults."""

    type: int = 1
    whitespace_as_suffix: bool = False
    byte_fallback: bool = False
    unknown_surface: str = " \u2047 "


def parse_sentencepiece(data: bytes, name: str) -> TokenizerSpec:
    """Return the model in a file; a VocabularyError names the file and the place in it."""
    reader = ProtobufReader(name)
    pieces, at = usual_pieces(data)
    trained, normalizer, denormalizer = _Trained(), SentencePieceNormalizer(), SentencePieceNormalizer()
    for field in reader.fields(memoryview(data)[at:], at):
        if field.number == 1:
            if len(pieces) == MAX_TOKENS:
                reader.fail(field.offset, f"more than {MAX_TOKENS} pieces, the most that are read,")
            pieces.append(_read_piece(reader, field))
        elif field.number == 2:
            trained = _read_trainer(reader, field, trained)
        elif field.number == 3:
            normalizer = _read_normalizer(reader, field, normalizer)
        elif field.number == 5:
            denormalizer = _read_normalizer(reader, field, denormalizer)
    if trained.type not in _MODEL_TYPES:
        raise VocabularyError(f"{trained.type} is not a type of model", where=name)
    model_type = _MODEL_TYPES[trained.type]
    if trained.byte_fallback:
        pieces = [piece._replace(kind="unused") if piece.text == _NULL else piece for piece in pieces]
    check_pieces(pieces, trained.byte_fallback, model_type, name)
    kept = frozenset(piece.text for piece in pieces if piece.kind == "user_defined")
    for settings in (normalizer, denormalizer):
        Charsmap(settings.charsmap, name)  # a VocabularyError if it is broken
    return TokenizerSpec(
        SentencePieceModel(pieces, model_type, trained.byte_fallback),
        normalizer=(normalizer._replace(whitespace_as_suffix=trained.whitespace_as_suffix, kept=kept),),
        decoder=SentencePieceDecoder(trained.unknown_surface, denormalizer if denormalizer.charsmap else None),
    )


def with_configured_ids(
    spec: TokenizerSpec, configurations: Iterable[tuple[Path, bytes]], folder: Path
) -> TokenizerSpec:
    """Return a folder's model, as the configurations beside it say: with fairseq's ids, or a template of its own.

    The ids are fairseq's if the model is XLM-RoBERTa's. Otherwise `add_bos_token` and `add_eos_token` in
    tokenizer_config.json say which tokens go before and after each text, as in Hugging Face's transformers.
    """
    template, model = None, cast(SentencePieceModel, spec.model)
    for path, data in configurations:
        member, values = XLM_ROBERTA[path.name]
        top = parse_json_strictly(data, path.name)
        if not isinstance(top, dict):
            continue
        if path.name == "tokenizer_config.json":
            template = _template(top, model)
        if top.get(member) in values:
            if [piece.text for piece in model.pieces[:3]] != ["<unk>", "<s>", "</s>"]:
                raise VocabularyError(
                    f"{path.name} says XLM-RoBERTa, but the model does not begin with <unk>, <s>, </s>",
                    where=str(folder),
                )
            return with_fairseq_ids(spec)
    return spec._replace(template=template)


def with_fairseq_ids(spec: TokenizerSpec) -> TokenizerSpec:
    """Return XLM-RoBERTa's tokenizer, given its model: the special tokens have the first ids, the mask the last.

    The id of any other piece is its place plus one. The mask takes the white space before it. (Hugging Face's
    transformers, tokenization_xlm_roberta.py: fairseq_tokens_to_ids.)
    """
    model = cast(SentencePieceModel, spec.model)
    ids = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "<mask>": len(model.pieces) + 1}
    begin, end = (ids["<s>"],), (ids["</s>"],)
    return spec._replace(
        model=model._replace(first_id=1, unknown_id=ids["<unk>"]),
        added=tuple(AddedToken(text, n, special=True, lstrip=text == "<mask>") for text, n in ids.items()),
        template=Around(begin, end, first_after=end, second_before=end),
    )


def _template(config: Mapping[str, object], model: SentencePieceModel) -> Around | None:
    """Return the ids that a tokenizer_config.json puts around texts; None if there are none, or the model lacks one."""
    ids: list[tuple[int, ...]] = []
    for name, usual in (("bos_token", "<s>"), ("eos_token", "</s>")):
        token = config.get(name, usual)
        text = token.get("content") if isinstance(token, dict) else token
        if config.get(f"add_{name}") is not True or text is None:
            ids.append(())
            continue
        found = next((id for id, piece in enumerate(model.pieces) if piece.text == text), None)
        if found is None:
            return None
        ids.append((found,))
    before, after = ids
    return Around(before, after, after, before, types=True) if before or after else None


# Pieces are read in two ways, since field by field, Llama 2's 32,000 take 131 ms instead of 28 ms of CPU time.
def usual_pieces(data: bytes) -> tuple[list[SpmPiece], int]:
    """Return the pieces that a file begins with, and the offset of the first that is not as SentencePiece writes them.

    SentencePiece writes a text, a score and, unless the piece is a normal one, a type, in this order; all sizes take
    one byte.
    """
    texts: list[str] = []
    scores: list[float] = []
    kinds: list[PieceKind] = []
    at, size = 0, len(data)
    head_of, score_of = _PIECE_HEAD.unpack_from, _SCORED.unpack_from
    with suppress(UnicodeDecodeError, KeyError, struct.error):  # struct.error: the file ends within the piece
        while len(texts) < MAX_TOKENS:
            piece, piece_size, text, text_size = head_of(data, at)
            text_at = at + 4
            score_at, end = text_at + text_size, at + 2 + piece_size
            if piece != 0x0A or text != 0x0A or piece_size > 127 or text_size > 127 or end > size:
                break
            tag, score = score_of(data, score_at)
            if tag != 0x15 or score - score != 0:  # infinite, or NaN
                break
            rest = end - score_at - 5
            if rest and (rest != 2 or data[score_at + 5] != 0x18):
                break
            kind = _KINDS[data[score_at + 6] if rest else 1]
            texts.append(data[text_at:score_at].decode())
            scores.append(score)
            kinds.append(kind)
            at = end
    return list(map(SpmPiece._make, zip(texts, scores, kinds, strict=True))), at


def _read_piece(reader: ProtobufReader, message: ProtobufField) -> SpmPiece:
    text, score, kind = "", 0.0, 1
    for field in reader.fields(reader.message(message), message.offset):
        if field.number == 1:
            text = reader.text(field)
        elif field.number == 2:
            score = reader.single(field)
        elif field.number == 3:
            kind = reader.whole(field)
    if kind not in _KINDS:
        reader.fail(message.offset, f"a piece of the unknown type {kind}")
    if len(text) >= MAX_PIECE_CHARS:
        reader.fail(message.offset, f"a piece of {len(text)} characters; at most {MAX_PIECE_CHARS} are read,")
    return SpmPiece(text, score, _KINDS[kind])


def _read_trainer(reader: ProtobufReader, message: ProtobufField, trained: _Trained) -> _Trained:
    for field in reader.fields(reader.message(message), message.offset):
        if field.number == 3:
            trained = trained._replace(type=reader.whole(field))
        elif field.number == 24:
            trained = trained._replace(whitespace_as_suffix=bool(reader.whole(field)))
        elif field.number == 35:
            trained = trained._replace(byte_fallback=bool(reader.whole(field)))
        elif field.number == 44:
            trained = trained._replace(unknown_surface=reader.text(field))
    return trained


def _read_normalizer(
    reader: ProtobufReader, message: ProtobufField, made: SentencePieceNormalizer
) -> SentencePieceNormalizer:
    for field in reader.fields(reader.message(message), message.offset):
        if field.number == 2:
            made = made._replace(charsmap=bytes(reader.message(field)))
        elif field.number == 3:
            made = made._replace(add_dummy_prefix=bool(reader.whole(field)))
        elif field.number == 4:
            made = made._replace(remove_extra_whitespaces=bool(reader.whole(field)))
        elif field.number == 5:
            made = made._replace(escape_whitespaces=bool(reader.whole(field)))
    return made


def check_pieces(pieces: list[SpmPiece], byte_fallback: bool, model_type: ModelType, name: str) -> None:
    """Raise VocabularyError if the pieces are not those of a model that SentencePiece itself would load."""
    if not pieces:
        raise VocabularyError("a model without pieces", where=name)
    first_of: dict[tuple[str, bool], int] = {}
    found_bytes: set[str] = set()
    unknown = -1
    for number, (text, _, kind) in enumerate(pieces):
        if not text:
            raise VocabularyError(f"piece {number} is empty", where=name)
        if _NULL in text:
            if text == _NULL and kind == "unused":
                continue
            raise VocabularyError(f"piece {number} has a NUL in it", where=name)
        # except for BPE, the library keeps these kinds in a table of their own
        key = text, model_type != "bpe" and kind in ("unknown", "control", "byte")
        if (first := first_of.setdefault(key, number)) != number:
            raise VocabularyError(f"piece {number}, {shown_text(text)}, repeats piece {first}", where=name)
        if kind == "unknown":
            if unknown >= 0:
                raise VocabularyError(f"pieces {unknown} and {number} are both for unknown text", where=name)
            unknown = number
        elif kind == "byte":
            if not byte_fallback or text not in _BYTE_TOKENS:
                raise VocabularyError(f"piece {number}, {shown_text(text)}, is not a token for a byte", where=name)
            found_bytes.add(text)
    if byte_fallback and len(found_bytes) != len(_BYTE_TOKENS):
        raise VocabularyError(f"{len(found_bytes)} pieces for single bytes; 256 are needed", where=name)
    if unknown < 0 and not byte_fallback:
        raise VocabularyError("no piece for unknown text", where=name)


_BYTE_TOKENS = frozenset(map(byte_token, range(256)))
