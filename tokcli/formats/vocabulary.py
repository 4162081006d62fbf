"""Any vocabulary file as checked tables: recognises its format and calls the reader for it.

What a file leaves open (the pattern of a .tiktoken file) is left open here, too; the registry decides it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tokcli.errors import VocabularyError
from tokcli.formats import recognise as formats
from tokcli.formats.limits import HEAD_BYTES, MAX_RANK, MAX_SIDECAR_BYTES, read_regular_file, shown_name

if TYPE_CHECKING:
    from tokcli.engine.pipeline import Tokenizer

FOLDER_FILES = (
    "tokenizer.json",
    "tekken.json",
    "tokenizer.model",
    "spiece.model",
    "sentencepiece.bpe.model",
)  # in order


@dataclass(frozen=True)
class Vocabulary:
    """What a vocabulary file, or a pair of them, holds. `pat_str` is None where it says nothing about a pattern."""

    mergeable_ranks: dict[bytes, int] = field(repr=False)
    special_tokens: dict[str, int] = field(default_factory=dict)
    pat_str: str | None = None


def read_vocabulary(path: str | os.PathLike[str]) -> Vocabulary | Tokenizer:
    """The vocabulary in a file or a folder; VocabularyError otherwise, naming file and place.

    It is ranks and a pattern where these say all, else a tokenizer with rules of its own.

    A .tiktoken file NAME may have a sidecar NAME.json beside it: see `read_sidecar`.
    """
    given, path = Path(path), _named_file(Path(path))
    if _is_gguf(path):
        from tokcli.formats.gguf import read_gguf

        return read_gguf(path)
    data, name = read_regular_file(path), str(path)
    form = formats.recognise(data[:HEAD_BYTES], name)
    if form in (formats.GPT2_VOCAB, formats.GPT2_MERGES):
        return _read_pair(path, data, form)
    vocabulary = parse_vocabulary(data, shown_name(path), form)
    sidecar = path.with_name(path.name + ".json")
    if form == formats.TIKTOKEN and isinstance(vocabulary, Vocabulary) and sidecar.exists():
        special_tokens, pat_str = read_sidecar(sidecar)
        return Vocabulary(vocabulary.mergeable_ranks, special_tokens, pat_str)
    if form == formats.SENTENCEPIECE and given.is_dir():
        from tokcli.formats.sentencepiece import with_ids_of_folder

        return with_ids_of_folder(given, vocabulary)
    return vocabulary


def parse_vocabulary(data: bytes, name: str, form: str | None = None) -> Vocabulary | Tokenizer:
    """The vocabulary in one file's bytes, which `name` stands for in errors; VocabularyError for half of a pair."""
    form = form or formats.recognise(data[:HEAD_BYTES], name)
    formats.refuse_unreadable(form, name)
    if form == formats.PACKED:
        from tokcli.formats.packed import unpack

        return Vocabulary(unpack(data, name).mergeable_ranks)
    if form == formats.TIKTOKEN:
        from tokcli.formats.tiktoken import parse_tiktoken

        return Vocabulary(parse_tiktoken(data, name))
    if form == formats.HUGGINGFACE:
        from tokcli.formats.huggingface import parse_huggingface

        return parse_huggingface(data, name)
    if form == formats.SENTENCEPIECE:
        from tokcli.formats.sentencepiece import parse_sentencepiece

        return parse_sentencepiece(data, name)
    if form == formats.TEKKEN:
        from tokcli.formats.tekken import parse_tekken

        return Vocabulary(*parse_tekken(data, name))
    if form == formats.MINBPE:
        from tokcli.formats.minbpe import parse_minbpe

        model = parse_minbpe(data, name)
        return Vocabulary(*model) if isinstance(model, tuple) else model
    raise VocabularyError(f"{name}: {form}, one file of two; the other one is needed, too")


def read_sidecar(path: Path) -> tuple[dict[str, int], str | None]:
    """The special tokens and the pattern (None: not given) that stand beside a .tiktoken file, in FILE.json.

    A JSON object with the members `pat_str` (a regex) and `special_tokens` (an object of names and ids), each of which
    may be missing, and no others: `{"pat_str": "\\\\s+|\\\\S+", "special_tokens": {"<|endoftext|>": 50256}}`.
    """
    from tokcli.formats.gpt2 import check_ids, parse_json_strictly

    name = shown_name(path)
    table = parse_json_strictly(read_regular_file(path, MAX_SIDECAR_BYTES), name)
    if not isinstance(table, dict) or table.keys() - {"pat_str", "special_tokens"}:
        raise VocabularyError(f"{name}: expected an object with pat_str, special_tokens and nothing else")
    pat_str = table.get("pat_str")
    if pat_str is not None and not isinstance(pat_str, str):
        raise VocabularyError(f"{name}: pat_str is not a text")
    return check_ids(table.get("special_tokens", {}), name), pat_str


def check_special_tokens(special_tokens: dict[str, int], mergeable_ranks: dict[bytes, int], name: str) -> None:
    """VocabularyError where a special token has the id of another token."""
    taken: dict[int, object] = {}
    used = set(special_tokens.values()) & set(mergeable_ranks.values())
    for token, number in special_tokens.items():
        if type(number) is not int or not 0 <= number <= MAX_RANK:
            raise VocabularyError(
                f"{name}: the id of special token {token!r} is not a whole number from 0 to {MAX_RANK}"
            )
        if number in used:
            raise VocabularyError(f"{name}: special token {token!r} has id {number}, which another token has")
        if number in taken:
            raise VocabularyError(f"{name}: special tokens {taken[number]!r} and {token!r} both have id {number}")
        taken[number] = token


def _is_gguf(path: Path) -> bool:
    """Whether a regular file begins as GGUF files do; they may be too large to be read whole."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(4) == b"GGUF"
    except (OSError, ValueError):
        return False


def _named_file(path: Path) -> Path:
    """The file itself, or the vocabulary of the GPT-2 pair in a folder."""
    if not path.is_dir():
        return path
    from tokcli.formats.gpt2 import PARTNERS

    for name in FOLDER_FILES:
        if (path / name).exists():
            return path / name
    for first, partners in PARTNERS.items():
        if (path / first).exists() and any((path / partner).exists() for partner in partners):
            return path / first
    raise VocabularyError(
        f"{path}: a folder without tokenizer.json, tokenizer.model or a GPT-2 pair (encoder.json and vocab.bpe)"
    )


def _read_pair(path: Path, data: bytes, form: str) -> Vocabulary:
    from tokcli.engine.known_patterns import R50K
    from tokcli.formats.gpt2 import PARTNERS, parse_gpt2

    partners = PARTNERS.get(path.name, ("merges.txt", "vocab.bpe") if form == formats.GPT2_VOCAB else
                            ("vocab.json", "encoder.json"))  # fmt: skip
    partner = next((path.with_name(p) for p in partners if path.with_name(p).exists()), None)
    if partner is None:
        raise VocabularyError(f"{path}: {form}, but neither {' nor '.join(partners)} stands beside it")
    vocab, merges = (path, partner) if form == formats.GPT2_VOCAB else (partner, path)
    other = read_regular_file(partner)
    tables = (data, other) if form == formats.GPT2_VOCAB else (other, data)
    ranks, special_tokens = parse_gpt2(*tables, shown_name(vocab), shown_name(merges))
    return Vocabulary(ranks, special_tokens, R50K)
