"""Any vocabulary file as checked tables: recognises its format and calls the reader for it.

What a file leaves open (the pattern of a .tiktoken file) is left open here, too; the registry decides it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokcli.errors import VocabularyError
from tokcli.formats import recognise as formats
from tokcli.formats.limits import (
    HEAD_BYTES,
    MAX_CONFIG_BYTES,
    MAX_RANK,
    MAX_SIDECAR_BYTES,
    read_regular_file,
    shown_name,
)

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


@dataclass(frozen=True)
class Sources:
    """The files that a vocabulary is read from; of GGUF files, the values of their header."""

    form: str
    files: tuple[tuple[Path, bytes], ...] = field(repr=False)  # the one that says the form, and what belongs to it
    absent: tuple[Path, ...]  # what would have been read instead, or too
    sha256: str
    values: dict[str, Any] | None = field(default=None, repr=False)
    folder: Path | None = None  # where a folder was named


def read_vocabulary(path: str | os.PathLike[str]) -> Vocabulary | Tokenizer:
    """The vocabulary in a file or a folder; VocabularyError otherwise, naming file and place.

    It is ranks and a pattern where these say all, else a tokenizer with rules of its own.

    A .tiktoken file NAME may have a sidecar NAME.json beside it: see `parse_sidecar`.
    """
    return parse_sources(read_sources(path))


def read_sources(path: str | os.PathLike[str]) -> Sources:
    """The bytes of all files that a vocabulary is made of; VocabularyError where one cannot be read."""
    named = Path(path)
    path = _named_file(named)
    absent = _absent_from(named) if path != named else ()
    if _is_gguf(path):
        from tokcli.formats.gguf import read_values

        values, sha256 = read_values(path)
        return Sources(formats.GGUF, ((path, b""),), absent, sha256, values)
    data, name = read_regular_file(path), str(path)
    form = formats.recognise(data[:HEAD_BYTES], name)
    files = [(path, data)]
    if form in (formats.GPT2_VOCAB, formats.GPT2_MERGES):
        partner, missing = _partner(path, form)
        absent += missing
        files.append((partner, read_regular_file(partner)))
    sidecar = path.with_name(path.name + ".json")
    if form == formats.TIKTOKEN:
        if sidecar.exists():
            files.append((sidecar, read_regular_file(sidecar, MAX_SIDECAR_BYTES)))
        else:
            absent += (sidecar,)
    folder = named if path != named else None
    if form == formats.SENTENCEPIECE and folder is not None:
        from tokcli.formats.sentencepiece import CONFIGURATIONS

        for configuration in (folder / name for name in CONFIGURATIONS):
            if configuration.exists():
                files.append((configuration, read_regular_file(configuration, MAX_CONFIG_BYTES)))
            else:
                absent += (configuration,)
    return Sources(form, tuple(files), absent, _sha256(form, [data for _, data in files]), folder=folder)


def sources_of(files: Mapping[str, bytes]) -> Sources:
    """The same of bytes at hand: one file, or both of a GPT-2 pair, by the names that stand for them in errors."""
    (name, data), *others = files.items()
    form = formats.recognise(data[:HEAD_BYTES], name)
    contents = [data, *(data for _, data in others)]
    return Sources(form, tuple((Path(name), data) for name, data in files.items()), (), _sha256(form, contents))


def _sha256(form: str, contents: list[bytes]) -> str:
    """What names a vocabulary: its form, and each file's size and bytes."""
    import hashlib

    found = hashlib.sha256(f"{form} {[len(data) for data in contents]}".encode())
    for data in contents:
        found.update(data)
    return found.hexdigest()


def parse_sources(sources: Sources) -> Vocabulary | Tokenizer:
    """The vocabulary in what was read; VocabularyError, naming file and place."""
    form, (path, data) = sources.form, sources.files[0]
    if sources.values is not None:
        from tokcli.formats.gguf import build

        return build(sources.values, shown_name(path))
    if form in (formats.GPT2_VOCAB, formats.GPT2_MERGES) and len(sources.files) > 1:
        return _parse_pair(sources)
    vocabulary = parse_vocabulary(data, shown_name(path), form)
    if form == formats.TIKTOKEN and isinstance(vocabulary, Vocabulary) and len(sources.files) > 1:
        special_tokens, pat_str = parse_sidecar(sources.files[1][1], shown_name(sources.files[1][0]))
        return Vocabulary(vocabulary.mergeable_ranks, special_tokens, pat_str)
    if form == formats.SENTENCEPIECE and sources.folder is not None:
        from tokcli.formats.sentencepiece import with_configured_ids

        return with_configured_ids(vocabulary, sources.files[1:], sources.folder)
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


def parse_sidecar(data: bytes, name: str) -> tuple[dict[str, int], str | None]:
    """The special tokens and the pattern (None: not given) that stand beside a .tiktoken file, in FILE.json.

    A JSON object with the members `pat_str` (a regex) and `special_tokens` (an object of names and ids), each of which
    may be missing, and no others: `{"pat_str": "\\\\s+|\\\\S+", "special_tokens": {"<|endoftext|>": 50256}}`.
    """
    from tokcli.formats.gpt2 import check_ids, parse_json_strictly

    table = parse_json_strictly(data, name)
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


def _absent_from(folder: Path) -> tuple[Path, ...]:
    """What could be read in a folder, and is not there."""
    from tokcli.formats.gpt2 import PARTNERS

    return tuple(folder / name for name in (*FOLDER_FILES, *PARTNERS) if not (folder / name).exists())


def _partner(path: Path, form: str) -> tuple[Path, tuple[Path, ...]]:
    """The other file of a pair, and those that were looked for before it."""
    from tokcli.formats.gpt2 import PARTNERS

    partners = PARTNERS.get(path.name, ("merges.txt", "vocab.bpe") if form == formats.GPT2_VOCAB else
                            ("vocab.json", "encoder.json"))  # fmt: skip
    for number, partner in enumerate(partners):
        if path.with_name(partner).exists():
            return path.with_name(partner), tuple(map(path.with_name, partners[:number]))
    raise VocabularyError(f"{path}: {form}, but neither {' nor '.join(partners)} stands beside it")


def _parse_pair(sources: Sources) -> Vocabulary:
    """The vocabulary in the two files of GPT-2, which split by its pattern."""
    from tokcli.engine.known_patterns import R50K
    from tokcli.formats.gpt2 import parse_gpt2

    vocab, merges = sources.files if sources.form == formats.GPT2_VOCAB else sources.files[::-1]
    return Vocabulary(*parse_gpt2(vocab[1], merges[1], shown_name(vocab[0]), shown_name(merges[0])), R50K)
