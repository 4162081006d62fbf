"""Any vocabulary file as a `TokenizerSpec`: the table FORMATS recognises the format of a file and names its reader.

What a file leaves open (the pattern of a .tiktoken file) is left open here, too; the registry decides it.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

from tokcli.engine.pretokenizers.known_patterns import R50K
from tokcli.engine.spec.of_ranks import spec_of_ranks
from tokcli.errors import VocabularyError
from tokcli.formats import packed_ranks, sources
from tokcli.formats.gguf import header as gguf_header
from tokcli.formats.gpt2 import parse_gpt2
from tokcli.formats.limits import HEAD_BYTES, open_regular_file, shown_name
from tokcli.formats.other_files import HUGGINGFACE_MEMBER, refuse_other
from tokcli.formats.sentencepiece import parse_sentencepiece, with_configured_ids
from tokcli.formats.sources import Sources
from tokcli.formats.tekken import parse_tekken
from tokcli.formats.tiktoken import (
    KIMI_PATTERN,
    KIMI_SHA256,
    parse_kimi,
    parse_sidecar,
    parse_tiktoken,
)

if TYPE_CHECKING:
    from tokcli.engine.spec.spec import TokenizerSpec

# base64 in groups of four, or the `=` of an empty token; then a rank
_TIKTOKEN_LINE = re.compile(rb"(?:(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?|=) [0-9]{1,10}\r?")
_MERGE_LINE = re.compile(rb"[^\s]+ [^\s]+\r?")
_MERGES_VERSION = b"#version"
_TEKKEN_MEMBER = re.compile(rb'"(?:default_vocab_size|default_num_special_tokens)"\s*:\s*[0-9]')


class Format(NamedTuple):
    """A row of the table of formats."""

    name: str  # what messages call a file of this format
    begins: Callable[[bytes], bool]  # whether a file that begins so has this format, if it has none of those above
    collect: Callable[[str, Path, Path | None], Sources]  # (name, path, named folder) -> the file, those beside it
    parse: Callable[[Sources], TokenizerSpec]


def read_sources(path: str | os.PathLike[str]) -> Sources:
    """Read all files of a vocabulary, which is in a file or a folder; raise VocabularyError if one cannot be read."""
    named, absent = Path(path), tuple[Path, ...]()
    file, folder = named, None
    if named.is_dir():
        (file, absent), folder = sources.file_in(named), named
    with open_regular_file(file) as opened:
        head = opened.read(HEAD_BYTES)
    form = format_of(head, str(file))
    found = form.collect(form.name, file, folder)
    return replace(found, absent=(*absent, *found.absent))


def sources_of(files: Mapping[str, bytes]) -> Sources:
    """Return sources made of bytes already read, by the name for errors: one file, or both of a GPT-2 pair."""
    name, data = next(iter(files.items()))
    form = format_of(data[:HEAD_BYTES], name)
    return sources.sources_of_bytes(form.name, [(Path(name), data) for name, data in files.items()])


def parse_sources(found: Sources) -> TokenizerSpec:
    """Return the vocabulary in files that were read; a VocabularyError names the file and the place in it."""
    return _BY_NAME[found.form].parse(found)


def format_of(head: bytes, name: str = "the file") -> Format:
    r"""Return the format of a file that begins with `head`, its first 4 KiB or all; raise VocabularyError if unknown.

    >>> format_of(b"IQ== 0\nIg== 1\n").name, format_of(b"#version: 0.2\nh e\n").name, format_of(b"GGUF\x03").name
    ('.tiktoken ranks', 'GPT-2 merges', 'a GGUF file')
    """
    if not head.strip():
        raise VocabularyError("the file is empty, there is no vocabulary in it", where=name)
    refuse_other(head, name)
    for form in FORMATS:
        if form.begins(head):
            return form
    raise VocabularyError(
        "unrecognised vocabulary format",
        "Supported: .tiktoken files, tokenizer.json, tekken.json, SentencePiece and minbpe models, GGUF files and "
        "GPT-2 pairs (encoder.json with vocab.bpe).",
        where=name,
    )


# --- how a file of each format begins: `head` is the first 4 KiB of it, or all ----------------------------------------


def _is_json_object(head: bytes) -> bool:
    """Return whether a file begins as a JSON object does."""
    return head.lstrip()[:1] == b"{"


def _is_tekken(head: bytes) -> bool:
    """Return whether a file begins as a tekken.json does."""
    return _is_json_object(head) and _TEKKEN_MEMBER.search(head) is not None


def _is_huggingface(head: bytes) -> bool:
    """Return whether a file begins as a tokenizer.json does."""
    return _is_json_object(head) and HUGGINGFACE_MEMBER.search(head) is not None


def _is_tiktoken(head: bytes) -> bool:
    """Return whether one of the first lines of a file is a token in base64 and a rank."""
    return not head.startswith(_MERGES_VERSION) and any(map(_TIKTOKEN_LINE.fullmatch, _whole_lines(head)))


def _is_merges(head: bytes) -> bool:
    """Return whether a file begins as GPT-2's merges do: with a version, or with two tokens per line."""
    lines = _whole_lines(head)
    return head.startswith(_MERGES_VERSION) or (bool(lines) and all(map(_MERGE_LINE.fullmatch, lines)))


def _is_sentencepiece(head: bytes) -> bool:
    """Return whether a file begins as a SentencePiece model does.

    A ModelProto begins with field 1, a piece, whose field 1 is its text; a score, a type or the next piece follows.
    """
    if len(head) < 4 or head[0] != 0x0A or head[2] != 0x0A:
        return False
    return head[4 + head[3] : 5 + head[3]] in (b"\x15", b"\x18", b"\n")


def _whole_lines(head: bytes) -> list[bytes]:
    """Return the lines of `head` that are not empty; the last may be cut off and counts only if it is the only one."""
    lines = [line for line in head.split(b"\n") if line.strip()]
    return lines[:-1] if len(lines) > 1 and not head.endswith(b"\n") else lines


# --- a reader for each format ----------------------------------------------------------------------------------------


def _first(found: Sources) -> tuple[bytes, str]:
    """Return the bytes of the file that was named, and what messages call it."""
    path, data = found.files[0]
    return data, shown_name(path)


def _parse_packed(found: Sources) -> TokenizerSpec:
    data, name = _first(found)
    return spec_of_ranks(packed_ranks.unpack(data, name), sha256=packed_ranks.read_tables(data, name).sha256.hex())


def _parse_tiktoken(found: Sources) -> TokenizerSpec:
    data, name = _first(found)
    ranks, sha256 = parse_tiktoken(data, name), hashlib.sha256(data).hexdigest()
    beside = {path.name: (text, shown_name(path)) for path, text in found.files[1:]}
    configuration = beside.pop(sources.CONFIGURATION, None)
    for sidecar in beside.values():
        return spec_of_ranks(ranks, *parse_sidecar(*sidecar), sha256)
    if sha256 != KIMI_SHA256:
        return spec_of_ranks(ranks, sha256=sha256)
    special_tokens = parse_kimi(*configuration, len(ranks)) if configuration else {}
    return spec_of_ranks(ranks, special_tokens, KIMI_PATTERN, sha256)


def _parse_pair(found: Sources) -> TokenizerSpec:
    """Return the vocabulary in a GPT-2 pair of files, with GPT-2's pattern, or as the configuration beside it says."""
    if len(found.files) < 2:
        raise VocabularyError(f"{_first(found)[1]}: {found.form}, one file of two; the other one is needed, too")
    one, other, *configuration = ((data, shown_name(path)) for path, data in found.files)
    vocab, merges = (one, other) if found.form == GPT2_VOCAB else (other, one)
    if configuration:
        configured: TokenizerSpec | None = _huggingface().read_configured_pair(vocab, merges, configuration[0])
        if configured is not None:
            return configured
    return spec_of_ranks(*parse_gpt2(vocab[0], merges[0], vocab[1], merges[1]), R50K)


def _parse_gguf(found: Sources) -> TokenizerSpec:
    from tokcli.formats.gguf.reader import parse_gguf

    data, name = _first(found)
    return parse_gguf(found.values or gguf_header.read_header(BytesIO(data), name)[0], name)


def _parse_huggingface(found: Sources) -> TokenizerSpec:
    parsed: TokenizerSpec = _huggingface().parse_huggingface(*_first(found))
    return parsed


def _huggingface() -> ModuleType:
    """Return the module that reads Hugging Face's tokenizers, which loads all components of a pipeline."""
    from tokcli.formats.huggingface import configured_pair

    return configured_pair


def _parse_minbpe(found: Sources) -> TokenizerSpec:
    from tokcli.formats.minbpe import parse_minbpe

    return parse_minbpe(*_first(found))


def _parse_sentencepiece(found: Sources) -> TokenizerSpec:
    model = parse_sentencepiece(*_first(found))
    return model if found.folder is None else with_configured_ids(model, found.files[1:], found.folder)


def _read_gguf(form: str, path: Path, folder: Path | None) -> Sources:
    """Read only the header of a GGUF file: the file may be too large to be read whole."""
    with open_regular_file(path) as file:
        values, sha256 = gguf_header.read_header(file, shown_name(path))
    return Sources(form, ((path, b""),), (), sha256, values, folder)


GPT2_VOCAB = "a GPT-2 vocabulary"
# In the order in which they are tried: a format whose test also accepts files of other formats comes after these.
FORMATS = (
    Format("packed ranks", lambda h: h.startswith(packed_ranks.MAGIC), sources.read_one, _parse_packed),
    Format("a GGUF file", lambda h: h.startswith(gguf_header.MAGIC), _read_gguf, _parse_gguf),
    Format("a minbpe model", lambda h: h.startswith(b"minbpe v"), sources.read_one, _parse_minbpe),
    Format("a tekken.json", _is_tekken, sources.read_one, lambda s: parse_tekken(*_first(s))),
    Format("a Hugging Face tokenizer.json", _is_huggingface, sources.read_one, _parse_huggingface),
    Format(GPT2_VOCAB, _is_json_object, partial(sources.read_pair, like="vocab.json"), _parse_pair),
    Format(".tiktoken ranks", _is_tiktoken, sources.read_with_sidecar, _parse_tiktoken),
    Format("a SentencePiece model", _is_sentencepiece, sources.read_with_configurations, _parse_sentencepiece),
    Format("GPT-2 merges", _is_merges, partial(sources.read_pair, like="merges.txt"), _parse_pair),
)
_BY_NAME = {form.name: form for form in FORMATS}
