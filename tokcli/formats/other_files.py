"""What a file is that is no vocabulary, by its first bytes: what people name by mistake, or got in place of a file.

What a vocabulary begins with is told by `read.py`, which asks here before it takes a file for one.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tokcli.errors import VocabularyError
from tokcli.formats.sources import FOLDER_FILES, PARTNERS

MAX_MESSAGE = 80  # characters of a server's message that are repeated
_BEGINS = (  # the first bytes, what such a file is, and what to do
    (b"version https://git-lfs.github.com/spec/", "a Git LFS pointer, not the file itself",
     "Run `git lfs pull` in its repository, or download the file itself."),
    (b"\xff\xfe", "UTF-16 text, not a vocabulary", "Save it as UTF-8."),
    (b"\xfe\xff", "UTF-16 text, not a vocabulary", "Save it as UTF-8."),
    (b"\xef\xbb\xbf", "a byte order mark before the vocabulary, which others refuse", "Save it without a mark."),
    (b"[\\u0000] 0\n", "minbpe's listing of tokens (.vocab), not a vocabulary", "Name the .model beside it."),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file, such as Keras weights, not a vocabulary", ""),
    (b"\x80\x02", "a Python pickle, such as PyTorch weights, not a vocabulary", ""),
    (b"\x80\x03", "a Python pickle, such as PyTorch weights, not a vocabulary", ""),
    (b"\x80\x04", "a Python pickle, such as PyTorch weights, not a vocabulary", ""),
    (b"\x80\x05", "a Python pickle, such as PyTorch weights, not a vocabulary", ""),
    (b"\x93NUMPY", "a NumPy array, not a vocabulary", ""),
    (b"ggml", "a GGML file, the format before GGUF", "Convert it, or name a GGUF file."),
    (b"lmgg", "a GGML file, the format before GGUF", "Convert it, or name a GGUF file."),
    (b"tjgg", "a GGML file, the format before GGUF", "Convert it, or name a GGUF file."),
    (b"PAR1", "a Parquet file, not a vocabulary", "Texts are read from one as an input: --records jsonl FILE."),
    (b"ARROW1", "an Arrow file, not a vocabulary", "Texts are read from one as an input: --records jsonl FILE."),
    (b"\x1f\x8b\x08", "compressed data (gzip)", "Decompress it first."),
    (b"\x28\xb5\x2f\xfd", "compressed data (zstd)", "Decompress it first."),
    (b"\xfd7zXZ\0", "compressed data (xz)", "Decompress it first."),
    (b"BZh", "compressed data (bzip2)", "Decompress it first."),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "Unpack it, and name the vocabulary in it."),
    (b"%PDF-", "a PDF document, not a vocabulary", ""),
    (b"\x89PNG\r\n", "an image (PNG), not a vocabulary", ""),
    (b"\xff\xd8\xff", "an image (JPEG), not a vocabulary", ""),
)  # fmt: skip
_ZIP = b"PK\x03\x04"
_PAGE = re.compile(rb"\s*(?:<!doctype html|<html|<head|<body|<!--)", re.IGNORECASE)
_XML = re.compile(rb"\s*<\?xml")
# What the hub, GitHub and others answer in plain text in place of a file.
_ANSWER = re.compile(
    rb"(?:entry not found|repository not found|404|not found|access to |access denied|forbidden|unauthorized"
    rb"|invalid (?:username|credentials)|too many requests|rate limit|internal server error|bad gateway"
    rb"|service unavailable|<h1>)",
    re.IGNORECASE,
)
ADDED = "added_tokens.json"  # which transformers writes beside vocab.json
_SMALL = 1 << 10  # bytes; such an answer has fewer
_SPECIAL_MEMBER = re.compile(rb'"(?:bos|eos|unk|pad|cls|sep|mask)_token"\s*:\s*["{]')
_VOCABULARY_MEMBER = re.compile(rb'"(?:added_tokens|pre_tokenizer|model|default_vocab_size)"\s*:\s*[\[{n0-9]')
_NOT_AN_ID = re.compile(rb'\s*\{(?:\s*"(?:[^"\\]|\\.)*"\s*:\s*[0-9]+\s*,)*\s*"(?:[^"\\]|\\.)*"\s*:\s*["\[{tfn-]')
HUGGINGFACE_MEMBER = re.compile(
    rb'"(?:version|truncation|padding|added_tokens|model|normalizer|pre_tokenizer)"\s*:\s*["{\[nt]'
)
_ARRAY = re.compile(rb'\s*\[\s*(?:[\[{"0-9]|\]\s*\Z)')
_MESSAGES = ("error", "message", "detail", "errors", "title")  # members of a server's answer


class Kind(NamedTuple):
    """A kind of JSON object: a pattern of the members that it has, and what it is."""

    members: re.Pattern[bytes]
    what: str


_SIDECAR = Kind(re.compile(rb'"pat_str"\s*:'), "the sidecar of a .tiktoken file (its pattern and special tokens)")
_KINDS = (
    _SIDECAR,
    Kind(re.compile(rb'"(?:tokenizer_class|added_tokens_decoder|model_max_length|clean_up_tokenization_spaces'
                    rb'|processor_class|chat_template)"\s*:'), "a tokenizer's configuration, without its vocabulary"),
    Kind(re.compile(rb'"weight_map"\s*:'), "an index of model weights, without a tokenizer"),
    Kind(re.compile(rb'"(?:architectures|model_type|hidden_size|num_hidden_layers|n_layer|torch_dtype|dtype'
                    rb'|num_attention_heads)"\s*:'), "a model's configuration, without its tokenizer"),
    Kind(re.compile(rb'"(?:_from_model_config|do_sample|temperature|top_p|max_new_tokens|(?:bos|eos|pad)_token_id'
                    rb'|transformers_version)"\s*:'), "a model's settings, without its tokenizer"),
    Kind(_SPECIAL_MEMBER, "a list of special tokens, without their vocabulary"),
)  # fmt: skip


def refuse_other(head: bytes, name: str) -> None:
    """Raise VocabularyError that says what a file is, if its first 4 KiB, `head`, tell that it is no vocabulary.

    >>> refuse_other(b"<!DOCTYPE html><title>Sign in</title>", "tokenizer.json")
    Traceback (most recent call last):
    tokcli.errors.VocabularyError: tokenizer.json: a web page, not a vocabulary
    """
    found = _in_binary(head) or _in_text(head) or _in_json(head, Path(name))
    if found is not None:
        what, hint = found
        raise VocabularyError(what, hint or _vocabulary_beside(name), where=name)


def _in_binary(head: bytes) -> tuple[str, str] | None:
    for begin, what, hint in _BEGINS:
        if head.startswith(begin):
            return what, hint
    if head.startswith(_ZIP):
        if b"/data.pkl" in head or b"byteorder" in head:
            return "model weights (PyTorch), without a tokenizer", ""
        return "a zip archive", "Unpack it, and name the vocabulary in it."
    if head[257:262] == b"ustar":
        return "a tar archive", "Unpack it, and name the vocabulary in it."
    if head[8:10] == b'{"' and int.from_bytes(head[:8], "little") < 1 << 32:
        return "model weights (safetensors), without a tokenizer", ""
    return None


def _in_text(head: bytes) -> tuple[str, str] | None:
    if _PAGE.match(head):
        where = "its address has /resolve/, not /blob/, on the Hugging Face Hub, and /raw/ on GitHub."
        return "a web page, not a vocabulary", f"Download the file itself: {where}"
    if _XML.match(head):
        return "XML, such as a server's error message, not a vocabulary", "Download the file again."
    text = head.strip()
    if len(head) < _SMALL and b"\n" not in text and _ANSWER.match(text):
        return _answer(text.decode("utf-8", "replace"))
    lines = head.split(b"\n", 200)
    if b"[UNK]" in (line.rstrip(b"\r") for line in lines):
        return "a BERT vocabulary (vocab.txt), which lacks its tokenizer's rules", ""
    return None


def _in_json(head: bytes, path: Path) -> tuple[str, str] | None:
    """Return what JSON is that has other values than the numbers of a GPT-2 vocabulary, or the names of a config."""
    if _ARRAY.match(head):
        return "a JSON array, not a vocabulary", ""
    if head.lstrip()[:1] != b"{" or _VOCABULARY_MEMBER.search(head):
        return None
    if path.name == ADDED or _has_only_large_ids(head):
        return "a list of added tokens, without their vocabulary", ""
    has_other_values = _NOT_AN_ID.match(head)
    for kind in _KINDS:
        if kind.members.search(head) and (has_other_values or b"_token_id" in head):
            return kind.what, _ranks_of_sidecar(path) if kind is _SIDECAR else ""
    if not has_other_values or HUGGINGFACE_MEMBER.search(head):
        return None
    with suppress(ValueError, RecursionError):  # it may be longer than the head
        members = json.loads(head)
        for name in _MESSAGES:
            if message := members.get(name):
                return _answer(message if isinstance(message, str) else json.dumps(message))
    if path.name in PARTNERS or any((path.parent / name).exists() for name in ("merges.txt", "vocab.bpe")):
        return None  # a damaged vocabulary: its reader says where
    return "a JSON object, not a vocabulary", ""


def _has_only_large_ids(head: bytes) -> bool:
    """Return whether a JSON object has ids only, all of them above those of a GPT-2 vocabulary of its size."""
    with suppress(ValueError, RecursionError):  # it may be longer than the head
        ids = list(json.loads(head).values())
        return bool(ids) and all(type(one) is int for one in ids) and min(ids) >= max(len(ids), 256)  # bytes
    return False


def _answer(text: str) -> tuple[str, str]:
    """Return what a server's message is that was saved in place of a file."""
    shown = ascii(text if len(text) <= MAX_MESSAGE else f"{text[:MAX_MESSAGE]}...")
    return f"a server's message, not a vocabulary: {shown}", "Download the file again: the server did not send it."


def _ranks_of_sidecar(path: Path) -> str:
    """Return what to do where a sidecar is given: name the file of ranks to which it belongs."""
    with suppress(OSError, ValueError):
        if path.suffix == ".json" and path.with_suffix("").is_file():
            return f"Name {path.with_suffix('')}, to which it belongs."
    return "Name the .tiktoken file to which it belongs: a sidecar has its name with .json after it."


def _vocabulary_beside(name: str) -> str:
    """Return what to do where a vocabulary may be beside a file: name that one, or a tokenizer.json."""
    folder = Path(name).parent
    with suppress(OSError, ValueError):
        for other in (*FOLDER_FILES, *PARTNERS):
            if (folder / other).is_file() and other != Path(name).name:
                return f"Name {folder / other}, which is beside it."
        for path in sorted(folder.glob("*.gguf"))[:1]:
            return f"Name {path}, which is beside it."
    return "Name the tokenizer.json or tokenizer.model of the model."
