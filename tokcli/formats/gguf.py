"""The vocabulary in a GGUF file (versions 2 and 3): its header is read, the tensors behind it never are.

Values stand one after the other, so a file is read from its beginning and counts are checked against what is left of
the header's limit before anything is kept. (Format: ggml-org/ggml, docs/gguf.md.)
"""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Callable, Sequence
from math import isfinite
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, NoReturn

from tokcli.engine.llama_cpp import BYTE, CONTROL, NORMAL, UNKNOWN, UNUSED, USER_DEFINED, Kind, LlamaCpp, Settings
from tokcli.engine.llama_patterns import PRE_TYPES, PreType
from tokcli.engine.models import byte_token
from tokcli.errors import VocabularyError
from tokcli.formats.limits import MAX_FILE_BYTES, MAX_KEYS, MAX_MERGES, MAX_TOKEN_BYTES, MAX_TOKENS, shown_name

MAGIC = b"GGUF"
_BLOCK = 1 << 20
_STRING, _ARRAY = 8, 9
_BYTES, _WHOLE, _SCORES = frozenset({0, 1}), frozenset({4, 5}), frozenset({5, 6})  # kinds that a list may be of
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
# LLAMA_TOKEN_TYPE_...
_KINDS = {1: NORMAL, 2: UNKNOWN, 3: CONTROL, 4: USER_DEFINED, 5: UNUSED, 6: BYTE}
_MODELS: dict[str, Kind] = {
    "llama": "llama",
    "gpt2": "gpt2",
    "gemma4": "gpt2",
    "whitespace": "gpt2",
    "bert": "bert",
    "t5": "t5",
    "rwkv": "rwkv",
    "plamo2": "plamo2",
}
_WANTED = ("tokenizer.ggml.", "general.name", "general.architecture")


def read_values(path: Path) -> tuple[dict[str, Any], str]:
    """What a file says of its vocabulary, and the sha256 of its header; VocabularyError names what is wrong in it."""
    import hashlib

    name = shown_name(path)
    try:
        with path.open("rb", buffering=0) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise VocabularyError(f"{path}: not a regular file")
            header = _Header(file, name)
            values = header.values()
            file.seek(0)
            found, left = hashlib.sha256(b"GGUF"), header.size
            while left and (block := file.read(min(_BLOCK, left))):
                found.update(block)
                left -= len(block)
            return values, found.hexdigest()
    except VocabularyError:
        raise
    except OSError as error:
        raise VocabularyError(f"{path}: {error.strerror or error}") from None


class Numbers(NamedTuple):
    """A list of numbers, and the kind that the file says they are of."""

    kind: int
    values: tuple[Any, ...]


class _Header:
    """Reads values in order; `_at` is the byte of the file that comes next."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file, self._name = file, name
        self._held = b""
        self._used = 0  # of what is held
        self._at = 0
        self._order = "<"

    @property
    def size(self) -> int:
        """How many bytes were read."""
        return self._at

    def fail(self, what: str, at: int | None = None) -> NoReturn:
        raise VocabularyError(f"{self._name}: {what} at byte {self._at if at is None else at}")

    def take(self, size: int) -> bytes:
        """The next bytes; VocabularyError where the file ends before, or the header is beyond its limit."""
        if self._at + size > MAX_FILE_BYTES:
            self.fail(f"a header of more than the {MAX_FILE_BYTES} bytes that are read")
        while len(self._held) - self._used < size:
            block = self._file.read(max(_BLOCK, size - (len(self._held) - self._used)))
            if not block:
                self.fail(f"cut off: {size} bytes are wanted, {len(self._held) - self._used} are left")
            self._held, self._used = self._held[self._used :] + block, 0
        data = self._held[self._used : self._used + size]
        self._used += size
        self._at += size
        return data

    def number(self, code: str) -> Any:
        """A number."""
        size = struct.calcsize("<" + code)
        return struct.unpack(self._order + code, self.take(size))[0]

    def count(self, most: int, what: str) -> int:
        """How many of something follow."""
        at, count = self._at, int(self.number("Q"))
        if count > most:
            self.fail(f"{count} {what}, more than the {most} that are read", at)
        return count

    def string(self) -> bytes:
        """Bytes with their size before them."""
        return self.take(self.count(MAX_FILE_BYTES, "bytes"))

    def strings(self, count: int) -> list[bytes]:
        """So many of them; those that are held one after the other, which are most."""
        found: list[bytes] = []
        size_at = struct.Struct(self._order + "Q").unpack_from
        while len(found) < count:
            held, at, left = self._held, self._used, count - len(found)
            last = len(held) - 8
            while left and at <= last:
                end = at + 8 + size_at(held, at)[0]
                if end > len(held):
                    break
                found.append(held[at + 8 : end])
                at, left = end, left - 1
            self._at += at - self._used
            self._used = at
            if left:
                found.append(self.string())  # reads on, within the limits
        return found

    def values(self) -> dict[str, Any]:
        """The values that a vocabulary is made of."""
        if self.take(4) != MAGIC:
            self.fail("no GGUF file", 0)
        version = self.number("I")
        if version not in (2, 3):
            swapped = int.from_bytes(version.to_bytes(4, "little"), "big")
            if swapped not in (2, 3):
                self.fail(f"GGUF version {version}; versions 2 and 3 are read", 4)
            self._order = ">"
        self.number("Q")  # tensors, which stand behind the header
        found: dict[str, Any] = {}
        for _ in range(self.count(MAX_KEYS, "values")):
            at = self._at
            key = self.string().decode("utf-8", "replace")
            wanted = key.startswith(_WANTED)
            value = self.value(self.number("I"), wanted)
            if wanted:
                if key in found:
                    self.fail(f"{key} stands in it twice", at)
                found[key] = value
        return found

    def value(self, kind: int, wanted: bool) -> Any:
        """A value of a kind; None where it is not wanted."""
        if kind == _STRING:
            return self.string()
        if kind in _SCALARS:
            return self.number(_SCALARS[kind])
        if kind != _ARRAY:
            self.fail(f"a value of kind {kind}, which is none,")
        kind = self.number("I")
        if kind == _STRING:
            count = self.count(MAX_MERGES, "texts")
            found = self.strings(count)
            return found if wanted else None
        if kind not in _SCALARS:
            self.fail(f"a list of kind {kind}, which is none,")
        size = struct.calcsize("<" + _SCALARS[kind])
        count = self.count(MAX_FILE_BYTES // size, "numbers")
        data = self.take(count * size)
        return Numbers(kind, struct.unpack(f"{self._order}{count}{_SCALARS[kind]}", data)) if wanted else None


# --- from values to a vocabulary -------------------------------------------------------------------------------------


class _Values:
    """The values by their short names, each checked for its type."""

    def __init__(self, values: dict[str, Any], name: str) -> None:
        self._values, self.name = values, name

    def get(self, key: str, kind: type, default: Any = None) -> Any:
        """A value, or `default` where there is none."""
        full = key if key.startswith("general.") else f"tokenizer.ggml.{key}"
        value = self._values.get(full)
        if value is None:
            return default
        if kind is str and isinstance(value, bytes):
            return value.decode("utf-8", "replace")
        if type(value) is not kind:
            raise VocabularyError(f"{self.name}: {full} is not of the type that it should be")
        return value

    def id(self, key: str, size: int, default: int | None) -> int | None:
        """An id; one that is out of range counts as missing."""
        number = self.get(f"{key}_token_id", int)
        if number is None or not 0 <= number < size:
            return default if default is not None and default < size else None
        return int(number)


def build(values: dict[str, Any], name: str) -> LlamaCpp:
    """The vocabulary that some values make; VocabularyError."""
    found = _Values(values, name)
    model = found.get("model", str)
    if model is None:
        raise VocabularyError(f"{name}: a GGUF file without a vocabulary (no tokenizer.ggml.model)")
    if model not in _MODELS:
        raise VocabularyError(f"{name}: a tokenizer of kind {model[:40]!r}, which is not known here")
    kind = _MODELS[model]
    texts = _texts(found)
    scores = _numbers(found, "scores", len(texts), _SCORES) or (0.0,) * len(texts)
    kinds = [_KINDS.get(k, 0) for k in _numbers(found, "token_type", len(texts), _WHOLE) or (1,) * len(texts)]
    if kind == "plamo2":
        _check_bytes(texts, kinds, name)
    pre = _pre_type(found, model) if kind == "gpt2" else None
    settings = _settings(found, kind, model, pre, texts)
    ids = {text: number for number, text in enumerate(texts)}
    _mark_special(found, ids, kinds)
    return LlamaCpp(
        kind,
        texts,
        tuple(map(float, scores)),
        tuple(kinds),
        _with_strips(found, ids, kinds, settings),
        pre,
        _merges(found, model) if kind == "gpt2" else (),
        name,
    )


def _texts(found: _Values) -> list[str]:
    tokens = found.get("tokens", list)
    if not tokens:
        raise VocabularyError(f"{found.name}: a GGUF file without tokens (no tokenizer.ggml.tokens)")
    if len(tokens) > MAX_TOKENS:
        raise VocabularyError(f"{found.name}: {len(tokens)} tokens, more than the {MAX_TOKENS} that are read")
    if max(map(len, tokens)) <= MAX_TOKEN_BYTES and b"\0" not in b"".join(tokens):
        texts = [token.decode("utf-8", "surrogateescape") for token in tokens]
        if len(set(texts)) == len(texts) and "" not in texts:
            return texts  # as nearly always; else one by one
    texts = []
    seen: dict[str, int] = {}
    for number, token in enumerate(tokens):
        if len(token) > MAX_TOKEN_BYTES:
            raise VocabularyError(f"{found.name}: token {number} has {len(token)} bytes; at most {MAX_TOKEN_BYTES}")
        # llama.cpp takes what stands before a NUL
        text = token.partition(b"\0")[0].decode("utf-8", "surrogateescape") or f"[EMPTY_{number}]"
        if text in seen:
            raise VocabularyError(f"{found.name}: token {number} is {ascii(text)[:60]}, as token {seen[text]} is")
        seen[text] = number
        texts.append(text)
    return texts


def _numbers(found: _Values, key: str, size: int, kinds: frozenset[int]) -> tuple[Any, ...] | None:
    """A number for each token; none where the file has no such list."""
    listed: Numbers | None = found.get(key, Numbers)
    if listed is None:
        return None
    if listed.kind not in kinds:
        raise VocabularyError(f"{found.name}: tokenizer.ggml.{key} is a list of kind {listed.kind}, which it cannot be")
    if len(listed.values) < size:
        raise VocabularyError(f"{found.name}: {len(listed.values)} in tokenizer.ggml.{key} for {size} tokens")
    if not all(map(isfinite, listed.values)):
        raise VocabularyError(f"{found.name}: a number in tokenizer.ggml.{key} that is none")
    return listed.values


def _check_bytes(texts: list[str], kinds: list[int], name: str) -> None:
    """VocabularyError where tokens for bytes do not say which, or some byte has none."""
    names = {byte_token(byte).lower() for byte in range(256)}
    for number, text in enumerate(texts):
        if kinds[number] & BYTE and text.lower() not in names:
            raise VocabularyError(f"{name}: token {number}, {ascii(text)[:40]}, cannot stand for a byte")
        if kinds[number] & BYTE:
            names.discard(text.lower())
    if names:
        raise VocabularyError(f"{name}: no token for the byte {min(names)}")


def _pre_type(found: _Values, model: str) -> PreType:
    pre = "gemma4" if model == "gemma4" else found.get("pre", str) or "default"
    if pre not in PRE_TYPES:
        raise VocabularyError(f"{found.name}: a pre-tokenizer {pre[:40]!r}, which is not known here")
    return PRE_TYPES[pre]


def _merges(found: _Values, model: str) -> Sequence[tuple[str, str]]:
    lines = found.get("merges", list)
    if lines is None:
        if found.get("pre", str) == "kimi-k2":
            return []
        raise VocabularyError(f"{found.name}: a {model} vocabulary without merges (no tokenizer.ggml.merges)")
    from tokcli.engine.llama_models import MergeLines

    return MergeLines(lines)


def _settings(found: _Values, kind: Kind, model: str, pre: PreType | None, texts: list[str]) -> Settings:
    size = len(texts)
    # (BOS, EOS, unknown, SEP) where the file does not say
    bos, eos, unknown, sep = {
        "llama": (1, 2, 0, None),
        "bert": (101, None, 100, 102),
        "t5": (None, 1, 2, None),
        "rwkv": (None, None, None, None),
        "plamo2": (1, 2, 0, None),
        "gpt2": (None, None, None, None) if model == "gemma4" else (11, 11, None, None),
    }[kind]
    if pre is not None and pre.no_bos:
        bos = None
    lowercase = found.get("normalizer.lowercase", bool, model != "whitespace")
    add_bos = found.get("add_bos_token", bool, kind in ("llama", "bert") or bool(pre and pre.add_bos))
    charsmap = found.get("precompiled_charsmap", Numbers, Numbers(0, ()))
    if charsmap.kind not in _BYTES:
        raise VocabularyError(f"{found.name}: tokenizer.ggml.precompiled_charsmap is no list of bytes")
    return Settings(
        bos=found.id("bos", size, bos),
        eos=found.id("eos", size, eos),
        unknown=found.id("unknown", size, unknown),
        sep=found.id("seperator", size, sep),  # so it is spelt
        add_bos=add_bos or bool(pre and pre.lines_whole),
        add_eos=found.get("add_eos_token", bool, kind == "t5"),
        add_space_prefix=found.get("add_space_prefix", bool, kind == "llama"),
        remove_extra_whitespaces=found.get("remove_extra_whitespaces", bool, False),
        clean_spaces=kind == "bert" or bool(pre and pre.clean_spaces),
        lowercase=lowercase,
        strip_accents=found.get("normalizer.strip_accents", bool, lowercase),
        charsmap=bytes(byte & 0xFF for byte in charsmap.values),
        whitespace_words=model == "whitespace",
    )


# Tokens that llama.cpp takes for control tokens by their text, in groups: of each, the first that is there, unless the
# file names the token of the group by its id.
_BY_TEXT: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("eot", ("<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>", "<|endoftext|>", "<|end_of_text|>", "<EOT>",
             "_<EOT>", "[EOT]", "<\uff5cend\u2581of\u2581sentence\uff5c>", "<end_of_utterance>")),
    ("eom", ("<|eom_id|>",)),
    ("fim_pre", ("<|fim_prefix|>", "<fim-prefix>", "<fim_prefix>", "<\uff5cfim\u2581begin\uff5c>", "<PRE>",
                 "\u2581<PRE>", "<|code_prefix|>", "<|prefix|>")),
    ("fim_suf", ("<|fim_suffix|>", "<fim-suffix>", "<fim_suffix>", "<\uff5cfim\u2581hole\uff5c>", "<SUF>",
                 "\u2581<SUF>", "<|code_suffix|>", "<|suffix|>")),
    ("fim_mid", ("<|fim_middle|>", "<fim-middle>", "<fim_middle>", "<\uff5cfim\u2581end\uff5c>", "<MID>",
                 "\u2581<MID>", "<|code_middle|>", "<|middle|>")),
    ("fim_pad", ("<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]")),
    ("fim_rep", ("<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>")),
    ("fim_sep", ("<|file_sep|>",)),
)  # fmt: skip
_OLD_NAMES = {"fim_pre": "prefix", "fim_suf": "suffix", "fim_mid": "middle"}
# All of these are, wherever they are.
_ENDS = (
    "<|eot_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>", "<|flush|>", "<|calls|>", "<end_of_turn>",
    "<|endoftext|>", "</s>", "<|eom_id|>", "<EOT>", "_<EOT>", "[EOT]", "[EOS]", "<|end_of_text|>",
    "<end_of_utterance>", "<eos>", "<turn|>", "<|tool_response>", "<\uff5cend\u2581of\u2581sentence\uff5c>", "[e~[",
)  # fmt: skip
_ALWAYS_FOUND = ("<|channel|>", "<|message|>", "<|start|>", "<|constrain|>")


def _mark_special(found: _Values, ids: dict[str, int], kinds: list[int]) -> None:
    """Changes the kinds of tokens that llama.cpp knows by their text (it does so to mend converted models)."""
    size = len(ids)
    for group, names in _BY_TEXT:
        if found.id(group, size, None) is None and found.id(_OLD_NAMES.get(group, group), size, None) is None:
            first = next((name for name in names if name in ids), None)
            if first is not None:
                kinds[ids[first]] |= CONTROL
    for name in _ENDS:
        if name in ids:
            kinds[ids[name]] |= CONTROL
    for name in _ALWAYS_FOUND:
        if name in ids:
            kinds[ids[name]] = USER_DEFINED
    if "<|end|>" in ids and (
        ({"<|return|>"} <= ids.keys() and ids.keys() & {"<|call|>", "<|calls|>"})
        or ({"<|flush|>"} <= ids.keys() and ids.keys() & {"<|call|>", "<|calls|>"})
    ):
        kinds[ids["<|end|>"]] = USER_DEFINED
    if "</s>" in ids and "<|tool_response>" in ids:
        kinds[ids["</s>"]] = NORMAL


def _with_strips(found: _Values, ids: dict[str, int], kinds: list[int], settings: Settings) -> Settings:
    """Which special tokens take white space beside them: no file says so, llama.cpp knows it by the model's name."""
    from dataclasses import replace

    pre, model = found.get("pre", str, ""), found.get("general.name", str, "").lower()
    architecture = found.get("general.architecture", str, "")
    of: Callable[..., frozenset[int]] = lambda *names: frozenset(ids[n] for n in names if n in ids)  # noqa: E731
    if any(n in pre for n in ("jina-v2-de", "jina-v2-es", "jina-v2-code")) or any(
        n in architecture for n in ("nomic-bert-moe", "jina-bert-v3")
    ):
        return replace(settings, lstrip=of("<mask>"))
    if "phi-3" in model or "phi3" in model:
        special = frozenset(n for n, kind in enumerate(kinds) if kind & (CONTROL | USER_DEFINED | UNKNOWN))
        return replace(settings, rstrip=(special | of("</s>")) - of("<unk>", "<s>", "<|endoftext|>"))
    if "modern-bert" in model:
        return replace(settings, lstrip=of("[MASK]"))
    return settings
