"""The tokenizer that the key-values of a GGUF file describe, checked for types, sizes and completeness.

Missing values and ids that are out of range are handled as llama.cpp handles them (src/llama-vocab.cpp).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, NamedTuple, NoReturn

from tokcli.engine.bpe.byte_alphabet import byte_token
from tokcli.engine.llama_cpp.patterns import PRE_TYPES, PreType
from tokcli.engine.spec.added_token import AddedToken
from tokcli.engine.spec.image import DecodingSpec
from tokcli.engine.spec.models import BYTE, CONTROL, NORMAL, UNKNOWN, UNUSED, USER_DEFINED, LlamaKind, LlamaModel
from tokcli.engine.spec.normalizers import Bert, Lowercase, Normalizer, SentencePieceNormalizer
from tokcli.engine.spec.patterns import Characters
from tokcli.engine.spec.spec import TokenizerSpec
from tokcli.engine.spec.splitters import PatternsInTurn, Split
from tokcli.engine.spec.templates import Around
from tokcli.errors import VocabularyError
from tokcli.formats.gguf.header import NumberList
from tokcli.formats.gguf.special_tokens import mark_special, stripping_tokens
from tokcli.formats.limits import MAX_TOKEN_BYTES, MAX_TOKENS
from tokcli.formats.refusals import shown_text

_BYTE_TYPES, _WHOLE_TYPES, _SCORE_TYPES = frozenset({0, 1}), frozenset({4, 5}), frozenset({5, 6})  # GGUF_TYPE_...
# LLAMA_TOKEN_TYPE_... -> the kind of a token
_KINDS = {1: NORMAL, 2: UNKNOWN, 3: CONTROL, 4: USER_DEFINED, 5: UNUSED, 6: BYTE}
_SPECIAL = CONTROL | UNKNOWN
# tokenizer.ggml.model -> the kind of tokenizer
_MODELS: dict[str, LlamaKind] = {
    "llama": "llama",
    "gpt2": "gpt2",
    "gemma4": "gpt2",
    "whitespace": "gpt2",
    "bert": "bert",
    "t5": "t5",
    "rwkv": "rwkv",
    "plamo2": "plamo2",
}
_AT_SPACES = Split(Characters("SPACE"), "Removed")
_NO_PATTERNS = PreType(PatternsInTurn(()), clean_spaces=False, byte_level=False, shows_spaces=True)


class _Keys:
    """The values of a header by their short names, each checked for its type."""

    def __init__(self, values: Mapping[str, Any], name: str) -> None:
        self._values, self.name = values, name

    def get(self, key: str, kind: type, default: Any = None) -> Any:
        """Return a value, or `default` if the file does not have it."""
        full = key if key.startswith("general.") else f"tokenizer.ggml.{key}"
        value = self._values.get(full)
        if value is None:
            return default
        if kind is str and isinstance(value, bytes):
            return value.decode("utf-8", "replace")
        if type(value) is not kind:
            self.fail(f"the value of {full} has the wrong type")
        return value

    def token_id(self, key: str, size: int, default: int | None = None) -> int | None:
        """Return the id of a special token; an id out of range counts as missing."""
        id = self.get(f"{key}_token_id", int)
        if id is None or not 0 <= id < size:
            return default if default is not None and default < size else None
        return int(id)

    def numbers(self, key: str, size: int, types: frozenset[int]) -> Sequence[Any] | None:
        """Return a list with a number for each of `size` tokens; None if the file does not have it."""
        listed: NumberList | None = self.get(key, NumberList)
        if listed is None:
            return None
        if listed.type not in types:
            self.fail(f"tokenizer.ggml.{key} is a list of the wrong type, {listed.type}")
        if len(listed.values) < size:
            self.fail(f"tokenizer.ggml.{key} has {len(listed.values)} numbers for {size} tokens")
        if not all(map(isfinite, listed.values)):
            self.fail(f"tokenizer.ggml.{key} has a number that is not finite")
        return listed.values

    def fail(self, what: str) -> NoReturn:
        raise VocabularyError(f"{what}", where=self.name)


def parse_gguf(values: Mapping[str, Any], name: str) -> TokenizerSpec:
    """Return the tokenizer that the values of a header describe; a VocabularyError names the file and the key."""
    keys = _Keys(values, name)
    model = _model_in(keys)
    kind, ids = _MODELS[model], _ids(keys)
    texts, size = list(ids), len(ids)
    scores = keys.numbers("scores", size, _SCORE_TYPES) or (0.0,) * size
    kinds = [_KINDS.get(k, 0) for k in keys.numbers("token_type", size, _WHOLE_TYPES) or (1,) * size]
    _check_byte_tokens(texts, kinds, kind, name)
    pre = _pre_type(keys, model)
    mark_special(ids, kinds, lambda group: keys.token_id(group, size) is not None)
    at_spaces = (_AT_SPACES,) if model == "whitespace" else ()
    roles, prefix = _roles(keys, model, pre, size), keys.get("add_space_prefix", bool, kind == "llama")
    return TokenizerSpec(
        added=_added(keys, ids, kinds),
        normalizer=_normalizer(keys, model, prefix),
        splitter=(*at_spaces, pre.splitter) if kind == "gpt2" else (),
        model=LlamaModel(
            kind,
            texts,
            tuple(map(float, scores)),
            tuple(kinds),
            roles.unknown,
            _merges(keys, model) if kind == "gpt2" else (),
            pre.byte_level,
            pre.shows_spaces,
            pre.ignore_merges,
            pre.lines_whole,
        ),
        template=_template(kind, roles),
        decoder=DecodingSpec("of the first id" if prefix else "no", cleans_spaces=kind == "bert" or pre.clean_spaces),
        name=name,
    )


def template_tokens(values: Mapping[str, Any], name: str) -> tuple[dict[str, str], str]:
    """Return the tokens that chat templates may name, by role, and the text of the one that llama.cpp puts first."""
    keys = _Keys(values, name)
    model = _model_in(keys)
    texts = list(_ids(keys))
    roles = _roles(keys, model, _pre_type(keys, model), len(texts))
    numbers = {"bos": roles.bos, "eos": roles.eos, "unk": roles.unknown, "sep": roles.sep}
    tokens = {f"{role}_token": texts[id] for role, id in numbers.items() if id is not None}
    return tokens, tokens.get("bos_token", "") if roles.add_bos else ""


def _model_in(keys: _Keys) -> str:
    model: str | None = keys.get("model", str)
    if model is None:
        keys.fail("a GGUF file without a vocabulary (no tokenizer.ggml.model)")
    if model not in _MODELS:
        keys.fail(f"a tokenizer of the unknown kind {shown_text(model)} (tokenizer.ggml.model)")
    return model


def _ids(keys: _Keys) -> dict[str, int]:
    """Return the tokens and their ids, in order of the ids."""
    tokens = keys.get("tokens", list)
    if not tokens:
        keys.fail("a GGUF file without tokens (no tokenizer.ggml.tokens)")
    if len(tokens) > MAX_TOKENS:
        keys.fail(f"{len(tokens)} tokens; at most {MAX_TOKENS} are read")
    ids: dict[str, int] = {}
    for id, token in enumerate(tokens):
        if len(token) > MAX_TOKEN_BYTES:
            keys.fail(f"token {id} has {len(token)} bytes; at most {MAX_TOKEN_BYTES} are allowed")
        # llama.cpp takes only the text before a NUL
        text = token.partition(b"\0")[0].decode("utf-8", "surrogateescape") or f"[EMPTY_{id}]"
        if (first := ids.setdefault(text, id)) != id:
            keys.fail(f"token {id}, {shown_text(text)}, repeats token {first}")
    return ids


def _check_byte_tokens(texts: list[str], kinds: list[int], kind: LlamaKind, name: str) -> None:
    """Raise VocabularyError if a byte token does not name its byte, or one of PLaMo 2's bytes has no token."""
    names = {byte_token(byte).lower() for byte in range(256)}
    for id, (text, flags) in enumerate(zip(texts, kinds, strict=True)):
        if not flags & BYTE:
            continue
        if kind in ("llama", "t5", "gpt2") and len(text.encode("utf-8", "surrogateescape")) < 3:
            what = f"token {id}, {shown_text(text)}, is too short to name a byte, as <0x0A> does"
            raise VocabularyError(what, where=name)
        if kind == "plamo2" and text.lower() not in names:
            raise VocabularyError(f"token {id}, {shown_text(text)}, is not a token for a byte", where=name)
        names.discard(text.lower())
    if names and kind == "plamo2":
        raise VocabularyError(f"no token for the byte {min(names)}", where=name)


def _pre_type(keys: _Keys, model: str) -> PreType:
    if _MODELS[model] != "gpt2":
        return _NO_PATTERNS
    pre = "gemma4" if model == "gemma4" else keys.get("pre", str) or "default"
    if pre not in PRE_TYPES:
        keys.fail(f"the unknown pre-tokenizer {shown_text(pre)} (tokenizer.ggml.pre)")
    return PRE_TYPES[pre]


def _merges(keys: _Keys, model: str) -> Sequence[bytes]:
    lines: list[bytes] | None = keys.get("merges", list)
    if lines is None:
        if keys.get("pre", str) == "kimi-k2":
            return []
        keys.fail(f"a vocabulary of kind {model} without merges (no tokenizer.ggml.merges)")
    return lines


class _Roles(NamedTuple):
    """The ids of special tokens, None for one that is missing, and whether BOS and EOS are put around a text."""

    bos: int | None
    eos: int | None
    unknown: int | None
    sep: int | None
    add_bos: bool
    add_eos: bool


def _roles(keys: _Keys, model: str, pre: PreType, size: int) -> _Roles:
    kind = _MODELS[model]
    # (BOS, EOS, unknown, SEP) where the file does not give them
    bos, eos, unknown, sep = {
        "llama": (1, 2, 0, None),
        "bert": (101, None, 100, 102),
        "t5": (None, 1, 2, None),
        "rwkv": (None, None, None, None),
        "plamo2": (1, 2, 0, None),
        "gpt2": (None, None, None, None) if model == "gemma4" else (11, 11, None, None),
    }[kind]
    return _Roles(
        bos=keys.token_id("bos", size, None if pre.no_bos else bos),
        eos=keys.token_id("eos", size, eos),
        unknown=keys.token_id("unknown", size, unknown),
        sep=keys.token_id("seperator", size, sep),  # spelt so in the files
        add_bos=keys.get("add_bos_token", bool, kind in ("llama", "bert") or pre.add_bos) or pre.lines_whole,
        add_eos=keys.get("add_eos_token", bool, kind == "t5"),
    )


def _template(kind: LlamaKind, roles: _Roles) -> Around | None:
    """Return the ids around a text: BOS and EOS where the file asks for them, or BERT's CLS and SEP."""
    first = roles.bos if kind == "bert" or roles.add_bos else None
    if kind == "plamo2" or (kind != "bert" and first is None and not roles.add_eos):
        return None
    last = roles.sep if kind == "bert" else roles.eos if roles.add_eos else None
    before, after = (() if id is None else (id,) for id in (first, last))
    return Around(before, after)


def _normalizer(keys: _Keys, model: str, prefix: bool) -> tuple[Normalizer, ...]:
    lowercase = keys.get("normalizer.lowercase", bool, model != "whitespace")
    strip_accents = keys.get("normalizer.strip_accents", bool, lowercase)
    charsmap = keys.get("precompiled_charsmap", NumberList, NumberList(0, ()))
    trims = keys.get("remove_extra_whitespaces", bool, False)
    if charsmap.type not in _BYTE_TYPES:
        keys.fail("tokenizer.ggml.precompiled_charsmap is not a list of bytes")
    if model == "whitespace":
        return (Lowercase(),) if lowercase else ()
    if model == "bert":
        return (Bert(True, True, strip_accents, lowercase),)
    if model == "llama":
        return (SentencePieceNormalizer(add_dummy_prefix=prefix, remove_extra_whitespaces=False),)
    if model == "t5":
        return (SentencePieceNormalizer(bytes(byte & 0xFF for byte in charsmap.values), prefix, trims),)
    return ()


def _added(keys: _Keys, ids: Mapping[str, int], kinds: Sequence[int]) -> tuple[AddedToken, ...]:
    """Return the tokens that are found in text before the model sees it."""
    lstrip, rstrip = stripping_tokens(
        ids,
        kinds,
        pre=keys.get("pre", str, ""),
        name=keys.get("general.name", str, ""),
        architecture=keys.get("general.architecture", str, ""),
    )
    return tuple(
        AddedToken(text, n, lstrip=n in lstrip, rstrip=n in rstrip, special=bool(kind & _SPECIAL))
        for (text, n), kind in zip(ids.items(), kinds, strict=True)
        if kind & (_SPECIAL | USER_DEFINED)
    )
