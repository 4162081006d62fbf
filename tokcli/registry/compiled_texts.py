"""What is kept in the cache of tokenizers whose native twin takes whole texts, and how it becomes a tokenizer again.

SentencePiece and GGUF models are made anew over tables in the mapped file; for a tokenizer.json see
compiled_pipelines.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from tokcli.engine import backend
from tokcli.engine.compiled import Compiled, Facts
from tokcli.engine.native_text import Learn, Learned, NativeText
from tokcli.engine.token_table import Rows, TokenTable
from tokcli.engine.token_table import pack as pack_table
from tokcli.errors import VocabularyError
from tokcli.registry.containers import (
    IMAGE,
    Check,
    Container,
    are_ids,
    are_texts,
    fits,
    is_flag,
    is_ids,
    is_text,
    optional,
)

if TYPE_CHECKING:
    from tokcli.engine.llama_cpp import LlamaCpp
    from tokcli.engine.pipeline import Pipeline, Tokenizer
    from tokcli.engine.sentencepiece import SentencePiece
    from tokcli.engine.spm_normalizer import SpmNormalizer

Packed = tuple[dict[str, Any], dict[str, bytes]]  # header and sections


def packed(tokenizer: Tokenizer) -> Packed | None:
    """The header and the sections of a tokenizer; None for those of which nothing is kept."""
    pack = _PACKERS.get(type(tokenizer).__name__)  # by its name: the modules of the others need not be imported
    return None if pack is None else pack(tokenizer)


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
    kinds = KINDS
    if container.header.get("kind") not in KINDS:
        from tokcli.registry.compiled_pipelines import KINDS as kinds
    kind = kinds.get(container.header.get("kind", ""))
    if kind is None or not fits(container.header, kind.header) or container.sections.keys() != kind.sections:
        return None
    return kind.open(container, source)


class Kind(NamedTuple):
    """What the members of a header have to be, which sections there are, and what makes a tokenizer of them."""

    header: Mapping[str, Check]
    sections: set[str]
    open: Callable[[Container, Source], Tokenizer | None]


def native_model(container: Container) -> Any:
    """The native model in a container's image, which stays mapped; ValueError for no such image."""
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
    native = NativeText(native_model(container))
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
        "cut_texts": [text for text, _ in model._cut_out],
        "cut_ids": [number for _, number in model._cut_out],
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
    scores, kinds = Rows(table.count, table.scores.__getitem__), Rows(table.count, table.kinds.__getitem__)
    model = LlamaCpp(header["of"], texts, scores, kinds, settings, name=source.name)

    def learn(chars: list[int], unclassed: list[int], runs: list[bytes]) -> Learned:
        from tokcli.engine.llama_models import word_rule
        from tokcli.engine.native_models import learner_of_words

        rule = word_rule(lowercase=settings.lowercase, strip_accents=settings.strip_accents)
        return learner_of_words(rule)(chars, unclassed, runs)

    learner = source.learner(container, learn) if header["of"] == "bert" else None
    vars(model).update(
        native_model=NativeText(native_model(container), learner),
        special_tokens=header["special_tokens"],
        _cut_out=list(zip(header["cut_texts"], header["cut_ids"], strict=True)),
    )
    return model


def _pack_pipeline(tokenizer: Pipeline) -> Packed | None:
    from tokcli.registry.compiled_pipelines import pack_pipeline

    return pack_pipeline(tokenizer)


_PACKERS: dict[str, Callable[[Any], Packed | None]] = {
    "XlmRoberta": lambda tokenizer: _pack_sentencepiece(tokenizer.model, shifts=True),
    "SentencePiece": lambda tokenizer: _pack_sentencepiece(tokenizer, shifts=False),
    "LlamaCpp": _pack_llama,
    "Pipeline": _pack_pipeline,
}


# --- what headers have to be -----------------------------------------------------------------------------------------


def _is_settings(value: Any) -> bool:
    count = len(_FLAGS)
    return type(value) is list and all(map(is_flag, value[:count])) and all(map(is_text, value[count:]))


KINDS = {
    "sentencepiece": Kind(
        {
            "kind": is_text,
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
    "llama.cpp": Kind(
        {
            "kind": is_text,
            "sha256": is_text,
            "of": ("llama", "bert", "t5").__contains__,
            "settings": lambda value: type(value) is dict,
            "special_tokens": is_ids,
            "cut_texts": are_texts,
            "cut_ids": are_ids,
        },
        {IMAGE, "table", "charsmap"},
        _open_llama,
    ),
}
