"""What is kept in the cache of tokenizers whose native twin takes whole texts, and how it becomes a tokenizer again.

SentencePiece and GGUF models are made anew over tables in the mapped file. Of a tokenizer.json the parts beside its
model are kept as they stood there, and read when text is decoded or a character is met for the first time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from tokcli.engine import backend
from tokcli.engine.added_tokens import AddedToken
from tokcli.engine.compiled import Compiled, Facts
from tokcli.engine.native_text import Learn, Learned, NativeText
from tokcli.engine.token_table import Rows, TokenTable
from tokcli.engine.token_table import pack as pack_table
from tokcli.errors import VocabularyError
from tokcli.registry.containers import IMAGE, Check, Container, fits, is_flag, is_id, is_ids, is_text, optional

if TYPE_CHECKING:
    from tokcli.engine.llama_cpp import LlamaCpp
    from tokcli.engine.pipeline import Pipeline, Tokenizer
    from tokcli.engine.sentencepiece import SentencePiece
    from tokcli.engine.spm_normalizer import SpmNormalizer
    from tokcli.formats.json_node import Node

Packed = tuple[dict[str, Any], dict[str, bytes]]  # header and sections
_SPREAD = 4  # a table by id is kept where at most so many times the tokens are ids


def packed(tokenizer: Tokenizer) -> Packed | None:
    """The header and the sections of a tokenizer; None for those of which nothing is kept."""
    from tokcli.engine.fairseq import XlmRoberta
    from tokcli.engine.llama_cpp import LlamaCpp
    from tokcli.engine.pipeline import Pipeline
    from tokcli.engine.sentencepiece import SentencePiece

    if isinstance(tokenizer, XlmRoberta):
        return _pack_sentencepiece(tokenizer.model, shifts=True)
    if isinstance(tokenizer, SentencePiece):
        return _pack_sentencepiece(tokenizer, shifts=False)
    if isinstance(tokenizer, LlamaCpp):
        return _pack_llama(tokenizer)
    return _pack_pipeline(tokenizer) if isinstance(tokenizer, Pipeline) else None


class Source(NamedTuple):
    """Where a container comes from: its file's name, what reads that again, and where learned rules are kept."""

    name: str
    load: Callable[[], Any]
    rules: str | None

    def learner(self, container: Container, learn: Learn) -> Learn:
        """The same that remembers."""
        if self.rules is None:
            return learn
        from tokcli.registry.learned import LearnedRules

        return LearnedRules(self.rules, container.header["sha256"], learn)


def opened(container: Container, source: Source) -> Tokenizer | None:
    """The tokenizer in a container; None for one of another kind. ValueError, TypeError: it is not as it should be."""
    for checks, sections, open_kind in _KINDS:
        if fits(container.header, checks) and container.sections.keys() == sections:
            return open_kind(container, source)
    return None


def _model(container: Container) -> Any:
    native = backend.native()
    assert native is not None
    return native.TextModel(container.sections[IMAGE])


class CompiledText(Compiled):
    """A tokenizer by its native twin, and the whole of it for what that does not do."""

    native: NativeText

    def __init__(self, facts: Facts, native: NativeText, load: Callable[[], Any]) -> None:
        super().__init__(facts, None, load)
        self.native = native

    def encode(self, text: str, allowed: frozenset[str]) -> list[int]:
        """The ids of a text."""
        found = self.native.encode(text, allowed)
        return self.whole.encode(text, allowed) if found is None else found


# --- SentencePiece ---------------------------------------------------------------------------------------------------

_PIECE_KINDS = ("normal", "unknown", "control", "user_defined", "unused", "byte")
_FLAGS = ("add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces", "whitespace_as_suffix")


def _pack_sentencepiece(model: SentencePiece, *, shifts: bool) -> Packed | None:
    if model.native is None:
        return None
    texts, scores, kinds = zip(*model.pieces, strict=True)
    header = {
        "kind": "sentencepiece",
        "model_type": model.model_type,
        "byte_fallback": model.byte_fallback,
        "unknown_surface": model.unknown_surface,
        "normalizer": _settings(model.normalizer),
        "denormalizer": None if model.denormalizer is None else _settings(model.denormalizer),
        "shifts": shifts,
    }
    sections = {
        IMAGE: model.native.image(),
        "table": pack_table(texts, scores, list(map(_PIECE_KINDS.index, kinds))),
        "charsmap": model.normalizer.charsmap.blob,
        "charsmap_back": b"" if model.denormalizer is None else model.denormalizer.charsmap.blob,
    }
    return header, sections


def _settings(normalizer: SpmNormalizer) -> list[Any]:
    return [*(getattr(normalizer, flag) for flag in _FLAGS), *sorted(normalizer.kept)]


def _normalizer(settings: list[Any], charsmap: memoryview) -> SpmNormalizer:
    from tokcli.engine.charsmap import Charsmap
    from tokcli.engine.spm_normalizer import SpmNormalizer

    flags, kept = settings[: len(_FLAGS)], settings[len(_FLAGS) :]
    return SpmNormalizer(Charsmap(bytes(charsmap)), **dict(zip(_FLAGS, flags, strict=True)), kept=frozenset(kept))


def _open_sentencepiece(container: Container, source: Source) -> Tokenizer:
    native = NativeText(_model(container))
    if container.header["shifts"]:
        from tokcli.engine.fairseq import XlmRoberta

        return XlmRoberta(_sentencepiece(container, native))
    facts = Facts(special_tokens={}, max_id=TokenTable(container.sections["table"]).count - 1, is_byte_level=False,
                  has_template=False, decodes_apart=False, others=None)  # fmt: skip

    def whole() -> Any:
        try:
            return _sentencepiece(container, native)
        except VocabularyError:  # of the charsmap
            return source.load()

    return CompiledText(facts, native, whole)


def _sentencepiece(container: Container, native: NativeText) -> SentencePiece:
    from tokcli.engine.sentencepiece import Piece, SentencePiece

    header, sections = container
    table = TokenTable(sections["table"])
    kinds: Any = _PIECE_KINDS
    back = header["denormalizer"]
    model = SentencePiece(
        Rows(table.count, lambda n: Piece(table.text(n), table.scores[n], kinds[table.kinds[n]])),
        header["model_type"],
        _normalizer(header["normalizer"], sections["charsmap"]),
        header["byte_fallback"],
        header["unknown_surface"],
        None if back is None else _normalizer(back, sections["charsmap_back"]),
    )
    vars(model)["native"] = native
    return model


# --- GGUF ------------------------------------------------------------------------------------------------------------


def _pack_llama(model: LlamaCpp) -> Packed | None:
    if model.native_model is None:
        return None
    settings = {name: sorted(v) if type(v) is frozenset else v for name, v in vars(model.settings).items()}
    del settings["charsmap"]
    header = {
        "kind": "llama.cpp",
        "of": model.kind,
        "settings": settings,
        "special_tokens": model.special_tokens,
        "cut_out": model._cut_out,
    }
    table = pack_table(model.texts, model.scores or [0.0] * len(model.texts), model.kinds)
    return header, {IMAGE: model.native_model.image(), "table": table, "charsmap": model.settings.charsmap}


def _open_llama(container: Container, source: Source) -> Tokenizer:
    from tokcli.engine.llama_cpp import LlamaCpp, Settings

    header, sections = container
    table = TokenTable(sections["table"])
    given: dict[str, Any] = {key: frozenset(v) if type(v) is list else v for key, v in header["settings"].items()}
    settings = Settings(**given, charsmap=bytes(sections["charsmap"]))
    texts = Rows(table.count, table.text)
    model = LlamaCpp(header["of"], texts, table.scores, table.kinds, settings, name=source.name)

    def learn(chars: list[int], unclassed: list[int], runs: list[bytes]) -> Learned:
        from tokcli.engine.llama_models import word_rule
        from tokcli.engine.native_models import learner_of_words

        rule = word_rule(lowercase=settings.lowercase, strip_accents=settings.strip_accents)
        return learner_of_words(rule)(chars, unclassed, runs)

    learner = source.learner(container, learn) if header["of"] == "bert" else None
    vars(model).update(
        native_model=NativeText(_model(container), learner),
        special_tokens=header["special_tokens"],
        _cut_out=[(text, number) for text, number in header["cut_out"]],
    )
    return model


# --- tokenizer.json --------------------------------------------------------------------------------------------------

_TOKEN_FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")


class CompiledPipeline(CompiledText):
    """A tokenizer.json by its native twin, the parts beside its model, and a table of its tokens."""

    def __init__(self, container: Container, source: Source, facts: Facts, added: Sequence[AddedToken]) -> None:
        header, sections = container
        self._name, self._added = source.name, added
        self._parts = sections["parts"]
        self._texts = _Texts(TokenTable(sections["table"]), {t.id: t for t in added}, self._normalized)
        raw, normalized = ([added[at] for at in header[name]] for name in ("raw", "normalized"))
        learn = source.learner(container, self._learn)
        super().__init__(facts, NativeText(_model(container), learn, raw, normalized), source.load)

    @cached_property
    def _node(self) -> Node:
        from tokcli.formats.json_node import Node

        try:
            parts = json.loads(bytes(self._parts))
        except ValueError:
            parts = self.whole.parts  # type: ignore[attr-defined]
        return Node(parts, self._name)

    @cached_property
    def _without_model(self) -> Pipeline:
        from tokcli.engine.models import WordLevel
        from tokcli.formats.huggingface import read_parts

        return read_parts(self._node, WordLevel({}, ""), self._added)

    def _normalized(self, text: str) -> str:
        return self._without_model._normalized(text)

    @cached_property
    def _learner(self) -> Callable[[list[int], list[int], list[bytes]], Learned]:
        from tokcli.engine.native_models import learner_of

        return learner_of(self._without_model)

    def _learn(self, chars: list[int], unclassed: list[int], runs: list[bytes]) -> Learned:
        return self._learner(chars, unclassed, runs)

    def decode(self, ids: Sequence[int]) -> bytes:
        """The bytes of some ids; UnknownTokenError."""
        from tokcli.engine.detokenizer import decoded
        from tokcli.formats.huggingface_decoders import decoder_of

        return decoded(ids, self._texts, decoder_of(self._node))


class _Texts(Mapping[int, str]):
    """The text of each id: of an added token, and else of the model's."""

    def __init__(self, table: TokenTable, added: Mapping[int, AddedToken], normalized: Callable[[str], str]) -> None:
        self._table, self._added, self._normalized = table, added, normalized

    def __getitem__(self, number: int) -> str:
        token = self._added.get(number)
        if token is not None:
            return self._normalized(token.content) if token.normalized else token.content
        if not 0 <= number < self._table.count or not self._table.kinds[number]:
            raise KeyError(number)
        return self._table.text(number)

    def __iter__(self) -> Iterator[int]:
        there = {number for number, kind in enumerate(self._table.kinds) if kind}
        return iter(sorted(there | self._added.keys()))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _pack_pipeline(pipeline: Pipeline) -> Packed | None:
    from tokcli.engine.compiled import facts_of

    native, texts = pipeline.native, pipeline.model.texts()
    size = max(texts, default=-1) + 1
    if native is None or pipeline.parts is None or size > _SPREAD * len(texts) + (1 << 16):
        return None
    numbers = {id(token): at for at, token in enumerate(pipeline.added)}
    facts = asdict(facts_of(pipeline, None))
    del facts["others"]
    header = {
        "kind": "pipeline",
        **facts,
        "added": [[t.content, t.id, *(getattr(t, flag) for flag in _TOKEN_FLAGS)] for t in pipeline.added],
        "raw": [numbers[id(token)] for token in native.raw],
        "normalized": [numbers[id(token)] for token in native.normalized],
    }
    rows = [texts.get(number, "") for number in range(size)]
    sections = {
        IMAGE: native.image(),
        "table": pack_table(rows, [0.0] * size, [number in texts for number in range(size)]),
        "parts": json.dumps(pipeline.parts).encode(),
    }
    return header, sections


def _open_pipeline(container: Container, source: Source) -> Tokenizer:
    header = container.header
    facts = Facts(**{key: header[key] for key in _FACTS}, others=None)
    added = [
        AddedToken(content, number, **dict(zip(_TOKEN_FLAGS, flags, strict=True)))
        for content, number, *flags in header["added"]
    ]
    return CompiledPipeline(container, source, facts, added)


# --- what headers have to be -----------------------------------------------------------------------------------------


def is_around(value: Any) -> bool:
    """Whether it is two lists of ids."""
    return type(value) is list and len(value) == 2 and all(map(is_id, [*value[0], *value[1]]))


def _is(name: str) -> Check:
    return lambda value: type(value) is str and value == name


def _is_list(check: Check) -> Check:
    return lambda value: type(value) is list and all(map(check, value))


def _is_settings(value: Any) -> bool:
    count = len(_FLAGS)
    return type(value) is list and all(map(is_flag, value[:count])) and all(map(is_text, value[count:]))


def _is_added(value: Any) -> bool:
    return type(value) is list and len(value) == 2 + len(_TOKEN_FLAGS) and is_text(value[0]) and is_id(value[1])


_FACTS: Mapping[str, Check] = {
    "special_tokens": is_ids,
    "max_id": is_id,
    "is_byte_level": is_flag,
    "has_template": is_flag,
    "decodes_apart": is_flag,
    "drops_space": is_flag,
    "cleans_spaces": is_flag,
    "around": optional(is_around),
}
_KINDS: Sequence[tuple[Mapping[str, Check], set[str], Callable[[Container, Source], Tokenizer]]] = (
    (
        {
            "kind": _is("sentencepiece"),
            "sha256": is_text,
            "model_type": ("unigram", "bpe", "word", "char").__contains__,
            "byte_fallback": is_flag,
            "unknown_surface": is_text,
            "normalizer": _is_settings,
            "denormalizer": optional(_is_settings),
            "shifts": is_flag,
        },
        {IMAGE, "table", "charsmap", "charsmap_back"},
        _open_sentencepiece,
    ),
    (
        {
            "kind": _is("llama.cpp"),
            "sha256": is_text,
            "of": ("llama", "bert", "t5").__contains__,
            "settings": lambda value: type(value) is dict,
            "special_tokens": is_ids,
            "cut_out": _is_list(
                lambda item: type(item) is list and len(item) == 2 and is_text(item[0]) and is_id(item[1])
            ),
        },
        {IMAGE, "table", "charsmap"},
        _open_llama,
    ),
    (
        {
            "kind": _is("pipeline"),
            "sha256": is_text,
            **_FACTS,
            "added": _is_list(_is_added),
            "raw": _is_list(is_id),
            "normalized": _is_list(is_id),
        },
        {IMAGE, "table", "parts"},
        _open_pipeline,
    ),
)
