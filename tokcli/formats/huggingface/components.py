"""The components of a tokenizer.json other than its model: normalizers, pre-tokenizers, post-processors, by type."""

from __future__ import annotations

import base64
from typing import Literal, get_args

from tokcli.engine.pipeline.processors import growth
from tokcli.engine.sentencepiece.charsmap import Charsmap
from tokcli.engine.spec import normalizers, splitters, templates
from tokcli.engine.spec.normalizers import Normalizer
from tokcli.engine.spec.patterns import CharacterClass, Characters, LiteralText
from tokcli.engine.spec.splitters import Splitter
from tokcli.engine.spec.templates import PostProcessor
from tokcli.formats.huggingface.decoders import Readers, read_component, read_list, read_pattern, read_prepend_scheme
from tokcli.formats.limits import MAX_ADDED_IDS, MAX_COPIES, MAX_RANK
from tokcli.formats.strict_json import JsonNode

# --- normalizers -----------------------------------------------------------------------------------------------------


def read_normalizer(node: JsonNode, depth: int = 0) -> tuple[Normalizer, ...]:
    """Return the normalizers that an object describes, one after the other."""
    return read_component(node, _NORMALIZERS, depth)


def _precompiled(node: JsonNode) -> Normalizer:
    blob = node.member("precompiled_charsmap")
    encoded = blob.text()
    try:
        data = base64.b64decode(encoded, validate=True)
    except ValueError:  # binascii.Error, or a character that is not ASCII
        blob.fail("not base64")
    if not data:
        blob.fail("an empty charsmap")
    Charsmap(data, f"{node.file}: {blob.path}")  # it is checked
    return normalizers.Precompiled(data)


def _bert(node: JsonNode) -> Normalizer:
    accents = node.member("strip_accents")
    return normalizers.Bert(
        node.member("clean_text").flag(),
        node.member("handle_chinese_chars").flag(),
        None if accents.value is None else accents.flag(),
        node.member("lowercase").flag(),
    )


_NORMALIZERS: Readers[Normalizer] = {
    "BertNormalizer": lambda n, _: (_bert(n),),
    "Strip": lambda n, _: (normalizers.Strip(n.member("strip_left").flag(), n.member("strip_right").flag()),),
    "StripAccents": lambda *_: (normalizers.Without("MARK"),),
    "NFC": lambda *_: (normalizers.UnicodeForm("NFC"),),
    "NFD": lambda *_: (normalizers.UnicodeForm("NFD"),),
    "NFKC": lambda *_: (normalizers.UnicodeForm("NFKC"),),
    "NFKD": lambda *_: (normalizers.UnicodeForm("NFKD"),),
    "Sequence": lambda n, d: read_list(n.member("normalizers"), read_normalizer, d),
    "Lowercase": lambda *_: (normalizers.Lowercase(),),
    "Nmt": lambda *_: (normalizers.Nmt(),),
    "Precompiled": lambda n, _: (_precompiled(n),),
    "Replace": lambda n, _: (normalizers.Replace(read_pattern(n.member("pattern")), n.member("content").text()),),
    "Prepend": lambda n, _: (normalizers.Prepend(n.member("prepend").text()),),
    "ByteLevel": lambda *_: (normalizers.ByteLevelNormalizer(),),
}


# --- pre-tokenizers --------------------------------------------------------------------------------------------------

_BEHAVIORS: dict[str, splitters.Behavior] = {name: name for name in get_args(splitters.Behavior)}
_TEXTS: dict[str, Literal[0, 1]] = {"A": 0, "B": 1}  # the texts of a template


def read_pre_tokenizer(node: JsonNode, depth: int = 0) -> tuple[Splitter, ...]:
    """Return the splitters that an object describes, one after the other."""
    return read_component(node, _PRE_TOKENIZERS, depth)


def _at_class(name: CharacterClass, behavior: splitters.Behavior = "Removed") -> Splitter:
    return splitters.Split(Characters(name), behavior)


def _split(node: JsonNode) -> Splitter:
    pattern = read_pattern(node.member("pattern"))
    return splitters.Split(pattern, node.member("behavior").choice(_BEHAVIORS), node.member("invert").flag())


def _byte_level(node: JsonNode) -> Splitter:
    node.member("trim_offsets").flag()  # it has no effect here, but is required
    return splitters.ByteLevel(node.member("add_prefix_space").flag(), node.member("use_regex").flag(True))


def _metaspace(node: JsonNode) -> Splitter:
    return splitters.Metaspace(
        node.member("replacement").character(), read_prepend_scheme(node), node.nullable("split").flag(True)
    )


_PRE_TOKENIZERS: Readers[Splitter] = {
    "BertPreTokenizer": lambda *_: (_at_class("SPACE"), _at_class("PUNCTUATION", "Isolated")),
    "ByteLevel": lambda n, _: (_byte_level(n),),
    "CharDelimiterSplit": lambda n, _: (splitters.Split(LiteralText(n.member("delimiter").character()), "Removed"),),
    "Metaspace": lambda n, _: (_metaspace(n),),
    "Whitespace": lambda *_: (splitters.Words(),),
    "WhitespaceSplit": lambda *_: (_at_class("SPACE"),),
    "Sequence": lambda n, d: read_list(n.member("pretokenizers"), read_pre_tokenizer, d),
    "Split": lambda n, _: (_split(n),),
    "Punctuation": lambda n, _: (_at_class("PUNCTUATION", n.member("behavior").choice(_BEHAVIORS, "Isolated")),),
    "Digits": lambda n, _: (
        _at_class("NUMERIC", "Isolated" if n.member("individual_digits").flag() else "Contiguous"),
    ),
    "UnicodeScripts": lambda *_: (splitters.UnicodeScripts(),),
    "FixedLength": lambda n, _: (splitters.FixedLength(n.member("length").whole(1, MAX_RANK, 5)),),
}


# --- post-processors -------------------------------------------------------------------------------------------------


def read_processor(node: JsonNode, depth: int = 0) -> tuple[PostProcessor, ...]:
    """Return the post-processors that an object describes, one after the other."""
    found = read_component(node, _PROCESSORS, depth)
    copies, ids = growth(found)
    if copies > MAX_COPIES or ids > MAX_ADDED_IDS:
        node.fail(f"{copies} copies of a text and {ids} ids; at most {MAX_COPIES} and {MAX_ADDED_IDS} are made")
    return found


def _id(node: JsonNode) -> tuple[int, ...]:
    items = node.list()
    if len(items) != 2:
        node.fail("expected a token and its id")
    items[0].text()
    return (items[1].whole(0, MAX_RANK),)


def _trim(node: JsonNode, default: bool | None = None) -> tuple[PostProcessor, ...]:
    wanted, spaced = (node.member(name).flag(default) for name in ("trim_offsets", "add_prefix_space"))
    return (templates.TrimOffsets(spaced),) if wanted else ()


def _byte_level_trim(node: JsonNode) -> tuple[PostProcessor, ...]:
    node.member("use_regex").flag(True)  # it has no effect here
    return _trim(node)


def _bert_processing(node: JsonNode) -> PostProcessor:
    sep, cls = _id(node.member("sep")), _id(node.member("cls"))
    return templates.Around(cls, sep, first_after=sep, types=True)


def _roberta(node: JsonNode) -> tuple[PostProcessor, ...]:
    sep, cls = _id(node.member("sep")), _id(node.member("cls"))
    return (*_trim(node, True), templates.Around(cls, sep, first_after=sep, second_before=sep))


def _template(node: JsonNode) -> PostProcessor:
    special: dict[str, tuple[int, ...]] = {}
    for name, token in node.member("special_tokens").items():
        token.member("id").text()
        ids = tuple(item.whole(0, MAX_RANK) for item in token.member("ids").list())
        texts = [item.text() for item in token.member("tokens").list()]
        if len(ids) != len(texts):
            token.fail(f"{len(ids)} ids for {len(texts)} tokens")
        special[name] = ids

    def read_item(item: JsonNode) -> templates.TemplateToken | templates.TemplateText:
        if len(item.expect(dict)) != 1:
            item.fail("expected a Sequence or a SpecialToken, and only one of them")
        if item.has("Sequence"):
            inner = item.member("Sequence")
            number = inner.member("id").choice(_TEXTS)
            return templates.TemplateText(number, inner.member("type_id").whole(0, MAX_RANK))
        inner = item.member("SpecialToken")
        ids = inner.member("id").choice(special)
        return templates.TemplateToken(ids, inner.member("type_id").whole(0, MAX_RANK))

    single, pair = (tuple(read_item(item) for item in node.member(name).list()) for name in ("single", "pair"))
    if {part.number for part in single if isinstance(part, templates.TemplateText)} != {0}:
        # without A, tokenizers drops every text, with and without special tokens; with B it panics
        node.member("single").fail("expected the Sequence A, and no other")
    return templates.Template(single, pair)


_PROCESSORS: Readers[PostProcessor] = {
    "BertProcessing": lambda n, _: (_bert_processing(n),),
    "RobertaProcessing": lambda n, _: _roberta(n),
    "ByteLevel": lambda n, _: _byte_level_trim(n),
    "TemplateProcessing": lambda n, _: (_template(n),),
    "Sequence": lambda n, d: read_list(n.member("processors"), read_processor, d),
}
