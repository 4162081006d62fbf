"""Tells the format of a vocabulary file by how its content begins, never by its name.

Some formats are known only so that the error can say what the file is.
"""

from __future__ import annotations

import re

from tokcli.errors import VocabularyError
from tokcli.formats.packed import MAGIC

TIKTOKEN = ".tiktoken ranks"
PACKED = "packed ranks"
GPT2_VOCAB = "a GPT-2 vocabulary"
GPT2_MERGES = "GPT-2 merges"
HUGGINGFACE = "a Hugging Face tokenizer.json"
SENTENCEPIECE = "a SentencePiece model"
GGUF = "a GGUF file"
MINBPE = "a minbpe model"
TEKKEN = "a tekken.json"
READABLE = frozenset({TIKTOKEN, PACKED, GPT2_VOCAB, GPT2_MERGES, HUGGINGFACE, SENTENCEPIECE, MINBPE, GGUF, TEKKEN})

# base64 in groups of four, or the `=` of an empty token, or nothing; then a rank
_TIKTOKEN_LINE = re.compile(rb"(?:(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?|=) [0-9]{1,10}\r?")
_MERGE_LINE = re.compile(rb"[^\s]+ [^\s]+\r?")
_HUGGINGFACE = re.compile(
    rb'"(?:version|truncation|padding|added_tokens|model|normalizer|pre_tokenizer)"\s*:\s*["{\[nt]'
)

_TEKKEN = rb'"(?:default_vocab_size|default_num_special_tokens)"\s*:\s*[0-9]'


def recognise(head: bytes, name: str = "the file") -> str:
    r"""The format of a file that begins with `head` (some 4 KiB of it, or all); VocabularyError if it is none we know.

    >>> recognise(b"IQ== 0\nIg== 1\n"), recognise(b"#version: 0.2\nh e\n"), recognise(b"GGUF\x03")
    ('.tiktoken ranks', 'GPT-2 merges', 'a GGUF file')
    """
    for magic, form in ((MAGIC, PACKED), (b"GGUF", GGUF), (b"minbpe v", MINBPE), (b"#version", GPT2_MERGES)):
        if head.startswith(magic):
            return form
    if not head.strip():
        raise VocabularyError(f"{name}: there is no vocabulary in it, it is empty")
    if head.lstrip()[:1] == b"{" and re.search(_TEKKEN, head):
        return TEKKEN
    if head.lstrip()[:1] == b"{":
        return HUGGINGFACE if _HUGGINGFACE.search(head) else GPT2_VOCAB
    lines = _whole_lines(head)
    if any(map(_TIKTOKEN_LINE.fullmatch, lines)):
        return TIKTOKEN
    if _is_sentencepiece(head):
        return SENTENCEPIECE
    if lines and all(map(_MERGE_LINE.fullmatch, lines)):
        return GPT2_MERGES
    raise VocabularyError(f"{name}: in no vocabulary format that is known here", _WHAT_IS_READ)


def refuse_unreadable(form: str, name: str) -> None:
    """VocabularyError, saying what the file is, where `form` is one that this version cannot read."""
    if form not in READABLE:
        raise VocabularyError(f"{name}: {form}, which this version does not read", _WHAT_IS_READ)


_WHAT_IS_READ = (
    "Read are .tiktoken files, tokenizer.json, tekken.json, SentencePiece and minbpe models, GGUF files and "
    "GPT-2 pairs (encoder.json with vocab.bpe)."
)


def _is_sentencepiece(head: bytes) -> bool:
    """A ModelProto begins with field 1, a piece, whose field 1 is its text; a score or a type follows, or the next."""
    if len(head) < 4 or head[0] != 0x0A or head[2] != 0x0A:
        return False
    return head[4 + head[3] : 5 + head[3]] in (b"\x15", b"\x18", b"\n")


def _whole_lines(head: bytes) -> list[bytes]:
    """The lines of `head` that are not empty; the last one may be cut off and counts only if it is the only one."""
    lines = [line for line in head.split(b"\n") if line.strip()]
    return lines[:-1] if len(lines) > 1 and not head.endswith(b"\n") else lines
