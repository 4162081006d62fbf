"""The components of a tokenizer.json other than its model: normalizers, pre-tokenizers, post-processors, by type."""

from __future__ import annotations

import base64
from typing import Literal, get_args

from tokcli.engine.pipeline import finders, normalizers, pretokenizers, processors
from tokcli.engine.sentencepiece.charsmap import Charsmap
from tokcli.formats.huggingface.decoders import Readers, read_component, read_finder, read_prepend_scheme
from tokcli.formats.limits import MAX_ADDED_IDS, MAX_COPIES, MAX_RANK
from tokcli.formats.strict_json import JsonNode

# --- normalizers -----------------------------------------------------------------------------------------------------


def read_normalizer(node: JsonNode, depth: int = 0) -> normalizers.Normalizer:
    """Return the normalizer that an object describes."""
    return read_component(node, _NORMALIZERS, depth)


def _replace(node: JsonNode, _: int) -> normalizers.Normalizer:
    finder, literal = read_finder(node.member("pattern"))
    return normalizers.Replace(finder, node.member("content").text(), literal)


def _precompiled(node: JsonNode, _: int) -> normalizers.Normalizer:
    blob = node.member("precompiled_charsmap")
    encoded = blob.text()
    try:
        data = base64.b64decode(encoded, validate=True)
    except ValueError:  # binascii.Error, or a character that is not ASCII
        blob.fail("not base64")
    if not data:
        blob.fail("an empty charsmap")
    return normalizers.Precompiled(Charsmap(data, f"{node.file}: {blob.path}"))


def _bert(node: JsonNode, _: int) -> normalizers.Normalizer:
    accents = node.member("strip_accents")
    return normalizers.Bert(
        node.member("clean_text").flag(),
        node.member("handle_chinese_chars").flag(),
        None if accents.value is None else accents.flag(),
        node.member("lowercase").flag(),
    )


_NORMALIZERS: Readers[normalizers.Normalizer] = {
    "BertNormalizer": _bert,
    "Strip": lambda n, _: normalizers.Strip(n.member("strip_left").flag(), n.member("strip_right").flag()),
    "StripAccents": lambda *_: normalizers.Without("MARK"),
    "NFC": lambda *_: normalizers.UnicodeForm("NFC"),
    "NFD": lambda *_: normalizers.UnicodeForm("NFD"),
    "NFKC": lambda *_: normalizers.UnicodeForm("NFKC"),
    "NFKD": lambda *_: normalizers.UnicodeForm("NFKD"),
    "Sequence": lambda n, d: normalizers.NormalizerSequence(
        tuple(read_normalizer(x, d) for x in n.member("normalizers").list())
    ),
    "Lowercase": lambda *_: normalizers.Lowercase(),
    "Nmt": lambda *_: normalizers.Nmt(),
    "Precompiled": _precompiled,
    "Replace": _replace,
    "Prepend": lambda n, _: normalizers.Prepend(n.member("prepend").text()),
    "ByteLevel": lambda *_: normalizers.ByteLevelNormalizer(),
}


# --- pre-tokenizers --------------------------------------------------------------------------------------------------

_BEHAVIORS: dict[str, pretokenizers.Behavior] = {name: name for name in get_args(pretokenizers.Behavior)}
_TEXTS: dict[str, Literal[0, 1]] = {"A": 0, "B": 1}  # the texts of a template


def read_pre_tokenizer(node: JsonNode, depth: int = 0) -> pretokenizers.Splitter:
    """Return the pre-tokenizer that an object describes."""
    return read_component(node, _PRE_TOKENIZERS, depth)


def _split(node: JsonNode, _: int) -> pretokenizers.Splitter:
    finder, _literal = read_finder(node.member("pattern"))
    return pretokenizers.Split(finder, node.member("behavior").choice(_BEHAVIORS), node.member("invert").flag())


def _byte_level(node: JsonNode, _: int) -> pretokenizers.Splitter:
    node.member("trim_offsets").flag()  # it has no effect here, but is required
    return pretokenizers.ByteLevel(node.member("add_prefix_space").flag(), node.member("use_regex").flag(True))


_PRE_TOKENIZERS: Readers[pretokenizers.Splitter] = {
    "BertPreTokenizer": lambda *_: pretokenizers.bert(),
    "ByteLevel": _byte_level,
    "CharDelimiterSplit": lambda n, _: pretokenizers.Split(
        finders.LiteralText(n.member("delimiter").character()), "Removed"
    ),
    "Metaspace": lambda n, _: pretokenizers.Metaspace(
        n.member("replacement").character(), read_prepend_scheme(n), n.nullable("split").flag(True)
    ),
    "Whitespace": lambda *_: pretokenizers.Words(),
    "WhitespaceSplit": lambda *_: pretokenizers.at_class("SPACE", "Removed"),
    "Sequence": lambda n, d: pretokenizers.SplitterSequence(
        tuple(read_pre_tokenizer(x, d) for x in n.member("pretokenizers").list())
    ),
    "Split": _split,
    "Punctuation": lambda n, _: pretokenizers.at_class(
        "PUNCTUATION", n.member("behavior").choice(_BEHAVIORS, "Isolated")
    ),
    "Digits": lambda n, _: pretokenizers.at_class(
        "NUMERIC", "Isolated" if n.member("individual_digits").flag() else "Contiguous"
    ),
    "UnicodeScripts": lambda *_: pretokenizers.UnicodeScripts(),
    "FixedLength": lambda n, _: pretokenizers.FixedLength(n.member("length").whole(1, MAX_RANK, 5)),
}


def asks_for_start(node: JsonNode) -> bool:
    """Return whether a pre-tokenizer, or one in it, treats the start of a text in a special way."""
    if node.member("type").value == "Sequence":
        return any(asks_for_start(item) for item in node.member("pretokenizers").list())
    return bool(node.member("type").value == "Metaspace" and read_prepend_scheme(node) == "first")


# --- post-processors -------------------------------------------------------------------------------------------------


def read_processor(node: JsonNode, depth: int = 0) -> processors.PostProcessor:
    """Return the post-processor that an object describes."""
    processor = read_component(node, _PROCESSORS, depth)
    copies, ids = processors.growth(processor)
    if copies > MAX_COPIES or ids > MAX_ADDED_IDS:
        node.fail(f"{copies} copies of a text and {ids} ids; at most {MAX_COPIES} and {MAX_ADDED_IDS} are made")
    return processor


def _pair(node: JsonNode) -> tuple[str, int]:
    items = node.list()
    if len(items) != 2:
        node.fail("expected a token and its id")
    return items[0].text(), items[1].whole(0, MAX_RANK)


def _trim(node: JsonNode, default: bool | None = None) -> processors.TrimOffsets | None:
    wanted, spaced = (node.member(name).flag(default) for name in ("trim_offsets", "add_prefix_space"))
    return processors.TrimOffsets(spaced) if wanted else None


def _byte_level_trim(node: JsonNode, _: int) -> processors.PostProcessor:
    node.member("use_regex").flag(True)  # it has no effect here
    return _trim(node) or processors.ProcessorSequence(())


def _template(node: JsonNode, _: int) -> processors.PostProcessor:
    special: dict[str, tuple[tuple[int, ...], tuple[str, ...]]] = {}
    for name, token in node.member("special_tokens").items():
        token.member("id").text()
        ids = tuple(item.whole(0, MAX_RANK) for item in token.member("ids").list())
        texts = tuple(item.text() for item in token.member("tokens").list())
        if len(ids) != len(texts):
            token.fail(f"{len(ids)} ids for {len(texts)} tokens")
        special[name] = ids, texts

    def read_item(item: JsonNode) -> processors.TemplateToken | processors.TemplateText:
        if len(item.expect(dict)) != 1:
            item.fail("expected a Sequence or a SpecialToken, and only one of them")
        if item.has("Sequence"):
            inner = item.member("Sequence")
            number = inner.member("id").choice(_TEXTS)
            return processors.TemplateText(number, inner.member("type_id").whole(0, MAX_RANK))
        inner = item.member("SpecialToken")
        ids, texts = inner.member("id").choice(special)
        return processors.TemplateToken(ids, texts, inner.member("type_id").whole(0, MAX_RANK))

    single, pair = (tuple(read_item(item) for item in node.member(name).list()) for name in ("single", "pair"))
    if {part.number for part in single if isinstance(part, processors.TemplateText)} != {0}:
        # without A, tokenizers drops every text, with and without special tokens; with B it panics
        node.member("single").fail("expected the Sequence A, and no other")
    return processors.Template(single, pair)


_PROCESSORS: Readers[processors.PostProcessor] = {
    "BertProcessing": lambda n, _: processors.BertProcessing(_pair(n.member("sep")), _pair(n.member("cls"))),
    "RobertaProcessing": lambda n, _: processors.Roberta(
        _pair(n.member("sep")), _pair(n.member("cls")), _trim(n, True)
    ),
    "ByteLevel": _byte_level_trim,
    "TemplateProcessing": _template,
    "Sequence": lambda n, d: processors.ProcessorSequence(
        tuple(read_processor(x, d) for x in n.member("processors").list())
    ),
}
