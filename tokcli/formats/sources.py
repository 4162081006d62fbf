"""The files that a vocabulary is read from: the one that is named, or is in a named folder, and those beside it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from tokcli.errors import VocabularyError
from tokcli.formats.limits import MAX_CONFIG_BYTES, MAX_SIDECAR_BYTES, read_regular_file

# The vocabularies that a folder may hold, in the order in which they are looked for.
FOLDER_FILES = (
    "tokenizer.json",
    "tekken.json",
    "tokenizer.model",
    "spiece.model",
    "sentencepiece.bpe.model",
    "tiktoken.model",
)
CONFIGURATION = "tokenizer_config.json"
# GPT-2's pairs: the other file of each, in the order in which it is looked for.
PARTNERS = {
    "encoder.json": ("vocab.bpe", "merges.txt"),
    "vocab.json": ("merges.txt", "vocab.bpe"),
    "vocab.bpe": ("encoder.json", "vocab.json"),
    "merges.txt": ("vocab.json", "encoder.json"),
}
# Files of a folder that may say that its SentencePiece model is XLM-RoBERTa's -> by which member, and by what values.
XLM_ROBERTA = {
    CONFIGURATION: ("tokenizer_class", ("XLMRobertaTokenizer", "XLMRobertaTokenizerFast")),
    "config.json": ("model_type", ("xlm-roberta", "xlm-roberta-xl")),
}


@dataclass(frozen=True)
class Sources:
    """The files that a vocabulary is read from, with their bytes; of a GGUF file, the values of its header instead."""

    form: str  # the name of the format
    files: tuple[tuple[Path, bytes], ...] = field(repr=False)  # the one that has the format, then those beside it
    absent: tuple[Path, ...]  # missing files that would have been read instead, or as well
    sha256: str  # of the format and all that was read
    values: dict[str, Any] | None = field(default=None, repr=False)
    folder: Path | None = None  # where a folder was named


def sources_of_bytes(
    form: str, files: Sequence[tuple[Path, bytes]], absent: Iterable[Path] = (), folder: Path | None = None
) -> Sources:
    """Return the sources made of files already read; the sha256 is of the format and each file's size and bytes."""
    digest = sha256(f"{form} {[len(data) for _, data in files]}".encode())
    for _, data in files:
        digest.update(data)
    return Sources(form, tuple(files), tuple(absent), digest.hexdigest(), folder=folder)


def read_one(form: str, path: Path, folder: Path | None, beside: Iterable[Path] = (), limit: int = 0) -> Sources:
    """Read a file, and those of the files `beside` it that exist, each of at most `limit` bytes."""
    files, absent = [(path, read_regular_file(path))], []
    for other in beside:
        if other.exists():
            files.append((other, read_regular_file(other, limit)))
        else:
            absent.append(other)
    return sources_of_bytes(form, files, absent, folder)


def read_with_sidecar(form: str, path: Path, folder: Path | None) -> Sources:
    """Read FILE, and FILE.json if it exists; beside a tiktoken.model, also the configuration of the tokenizer."""
    beside = [path.with_name(path.name + ".json")]
    if path.name == FOLDER_FILES[-1]:
        return read_one(form, path, folder, [*beside, path.with_name(CONFIGURATION)], MAX_CONFIG_BYTES)
    return read_one(form, path, folder, beside, MAX_SIDECAR_BYTES)


def read_with_configurations(form: str, path: Path, folder: Path | None) -> Sources:
    """Read a file, and the configurations of the folder that was named."""
    return read_one(form, path, folder, [folder / name for name in XLM_ROBERTA] if folder else (), MAX_CONFIG_BYTES)


def read_pair(form: str, path: Path, folder: Path | None, *, like: str) -> Sources:
    """Read a file of a GPT-2 pair, the other one, and the configuration beside them, if there is one.

    A name that is not in PARTNERS is taken as `like`.
    """
    names = PARTNERS.get(path.name, PARTNERS[like])
    partners = [path.with_name(name) for name in names]
    for number, partner in enumerate(partners):
        if partner.exists():
            files, absent = [(path, read_regular_file(path)), (partner, read_regular_file(partner))], partners[:number]
            configuration = path.with_name(CONFIGURATION)
            if configuration.exists():
                files.append((configuration, read_regular_file(configuration, MAX_CONFIG_BYTES)))
            else:
                absent.append(configuration)
            return sources_of_bytes(form, files, absent, folder)
    raise VocabularyError(f"{form}, but there is neither {' nor '.join(names)} beside it", where=str(path))


def file_in(folder: Path) -> tuple[Path, tuple[Path, ...]]:
    """Return the file to read in a folder, and the missing ones looked for; raise VocabularyError without any."""
    absent = tuple(folder / name for name in (*FOLDER_FILES, *PARTNERS) if not (folder / name).exists())
    for name in FOLDER_FILES:
        if folder / name not in absent:
            return folder / name, absent
    for name, partners in PARTNERS.items():
        if folder / name not in absent and any(folder / partner not in absent for partner in partners):
            return folder / name, absent
    others = sorted(path for path in folder.iterdir() if path.suffix in (".gguf", ".tiktoken", ".model"))
    raise VocabularyError(
        "a folder without tokenizer.json, tokenizer.model or a GPT-2 pair (encoder.json and vocab.bpe)",
        f"Name a file in it, such as {others[0]}." if others else "",
        where=str(folder),
    )
