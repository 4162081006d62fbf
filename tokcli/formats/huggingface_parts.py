"""The parts that a tokenizer.json names: normalizers, pre-tokenizers, post-processors, each by its type."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable

from tokcli.engine import matching, normalizer, postprocessor, splitters
from tokcli.engine.charsmap import Charsmap
from tokcli.formats.huggingface_shared import finder, part, scheme
from tokcli.formats.json_node import Node
from tokcli.formats.limits import MAX_RANK

# --- normalizers -----------------------------------------------------------------------------------------------------


def read_normalizer(node: Node, depth: int = 0) -> normalizer.Normalizer:
    """The normalizer that an object describes."""
    made: normalizer.Normalizer = part(node, _NORMALIZERS, depth)
    return made


def _replace(node: Node, _: int) -> normalizer.Normalizer:
    found, literal = finder(node.member("pattern"))
    return normalizer.Replace(found, node.member("content").text(), literal)


def _precompiled(node: Node, _: int) -> normalizer.Normalizer:
    blob = node.member("precompiled_charsmap")
    try:
        return normalizer.Precompiled(
            Charsmap(base64.b64decode(blob.text(), validate=True), f"{node.file}: {blob.path}")
        )
    except (binascii.Error, ValueError) as error:
        if isinstance(error, binascii.Error):
            blob.fail("not base64")
        raise


def _bert(node: Node, _: int) -> normalizer.Normalizer:
    accents = node.member("strip_accents")
    return normalizer.Bert(
        node.member("clean_text").flag(True),
        node.member("handle_chinese_chars").flag(True),
        None if accents.value is None else accents.flag(),
        node.member("lowercase").flag(True),
    )


_NORMALIZERS: dict[str, Callable[[Node, int], normalizer.Normalizer]] = {
    "BertNormalizer": _bert,
    "Strip": lambda n, _: normalizer.Strip(n.member("strip_left").flag(), n.member("strip_right").flag()),
    "StripAccents": lambda *_: normalizer.Without("MARK"),
    "NFC": lambda *_: normalizer.UnicodeForm("NFC"),
    "NFD": lambda *_: normalizer.UnicodeForm("NFD"),
    "NFKC": lambda *_: normalizer.UnicodeForm("NFKC"),
    "NFKD": lambda *_: normalizer.UnicodeForm("NFKD"),
    "Sequence": lambda n, d: normalizer.Sequence(tuple(read_normalizer(x, d) for x in n.member("normalizers").list())),
    "Lowercase": lambda *_: normalizer.Lowercase(),
    "Nmt": lambda *_: normalizer.Nmt(),
    "Precompiled": _precompiled,
    "Replace": _replace,
    "Prepend": lambda n, _: normalizer.Prepend(n.member("prepend").text()),
    "ByteLevel": lambda *_: normalizer.ByteLevel(),
}


# --- pre-tokenizers --------------------------------------------------------------------------------------------------

_BEHAVIORS = {name: name for name in matching.BEHAVIORS}


def read_splitter(node: Node, depth: int = 0) -> splitters.Splitter:
    """The pre-tokenizer that an object describes."""
    made: splitters.Splitter = part(node, _SPLITTERS, depth)
    return made


def _split(node: Node, _: int) -> splitters.Splitter:
    found, _literal = finder(node.member("pattern"))
    return splitters.Split(found, node.member("behavior").choice(_BEHAVIORS), node.member("invert").flag(False))


_SPLITTERS: dict[str, Callable[[Node, int], splitters.Splitter]] = {
    "BertPreTokenizer": lambda *_: splitters.bert(),
    "ByteLevel": lambda n, _: splitters.ByteLevel(
        n.member("add_prefix_space").flag(True), n.member("use_regex").flag(True)
    ),
    "CharDelimiterSplit": lambda n, _: splitters.Split(matching.Literal(n.member("delimiter").character()), "Removed"),
    "Metaspace": lambda n, _: splitters.Metaspace(
        n.member("replacement").character(), scheme(n), n.member("split").flag(True)
    ),
    "Whitespace": lambda *_: splitters.Words(),
    "WhitespaceSplit": lambda *_: splitters.at_class("SPACE", "Removed"),
    "Sequence": lambda n, d: splitters.Sequence(tuple(read_splitter(x, d) for x in n.member("pretokenizers").list())),
    "Split": _split,
    "Punctuation": lambda n, _: splitters.at_class("PUNCTUATION", n.member("behavior").choice(_BEHAVIORS, "Isolated")),
    "Digits": lambda n, _: splitters.at_class(
        "NUMERIC", "Isolated" if n.member("individual_digits").flag(False) else "Contiguous"
    ),
    "UnicodeScripts": lambda *_: splitters.UnicodeScripts(),
    "FixedLength": lambda n, _: splitters.FixedLength(n.member("length").whole(1, MAX_RANK, 5)),
}


def asks_for_start(node: Node) -> bool:
    """Whether a pre-tokenizer in an object does something else at the start of a text."""
    if node.member("type").value == "Sequence":
        return any(asks_for_start(item) for item in node.member("pretokenizers").list())
    return bool(node.member("type").value == "Metaspace" and scheme(node) == "first")


# --- post-processors -------------------------------------------------------------------------------------------------


def read_processor(node: Node, depth: int = 0) -> postprocessor.PostProcessor:
    """The post-processor that an object describes."""
    made: postprocessor.PostProcessor = part(node, _PROCESSORS, depth)
    return made


def _pair(node: Node) -> tuple[str, int]:
    items = node.list()
    if len(items) != 2:
        node.fail("expected a token and its id")
    return items[0].text(), items[1].whole(0, MAX_RANK)


def _trim(node: Node) -> postprocessor.TrimOffsets | None:
    wanted = node.member("trim_offsets").flag(True)
    return postprocessor.TrimOffsets(node.member("add_prefix_space").flag(True)) if wanted else None


def _template(node: Node, _: int) -> postprocessor.PostProcessor:
    special: dict[str, tuple[tuple[int, ...], tuple[str, ...]]] = {}
    for name, token in node.member("special_tokens").items():
        ids = tuple(item.whole(0, MAX_RANK) for item in token.member("ids").list())
        texts = tuple(item.text() for item in token.member("tokens").list())
        if len(ids) != len(texts):
            token.fail("as many ids as tokens are needed")
        special[name] = ids, texts

    def part(item: Node) -> postprocessor.Special | postprocessor.Text:
        if item.has("Sequence"):
            inner = item.member("Sequence")
            number = inner.member("id").choice({"A": 0, "B": 1})
            return postprocessor.Text(number, inner.member("type_id").whole(0, MAX_RANK))
        inner = item.member("SpecialToken")
        ids, texts = inner.member("id").choice(special)
        return postprocessor.Special(ids, texts, inner.member("type_id").whole(0, MAX_RANK))

    single, pair = (tuple(part(item) for item in node.member(name).list()) for name in ("single", "pair"))
    return postprocessor.Template(single, pair)


_PROCESSORS: dict[str, Callable[[Node, int], postprocessor.PostProcessor]] = {
    "BertProcessing": lambda n, _: postprocessor.BertProcessing(_pair(n.member("sep")), _pair(n.member("cls"))),
    "RobertaProcessing": lambda n, _: postprocessor.Roberta(_pair(n.member("sep")), _pair(n.member("cls")), _trim(n)),
    "ByteLevel": lambda n, _: _trim(n) or postprocessor.Sequenced(()),
    "TemplateProcessing": _template,
    "Sequence": lambda n, d: postprocessor.Sequenced(
        tuple(read_processor(x, d) for x in n.member("processors").list())
    ),
}
