"""The decoder that a tokenizer.json names, and what the readers of all components share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias, TypeVar

from tokcli.engine.pipeline.finders import compiled
from tokcli.engine.spec import decoders
from tokcli.engine.spec.decoders import Decoder
from tokcli.engine.spec.patterns import LiteralText, OnigPattern, Pattern
from tokcli.engine.spec.splitters import PrependScheme
from tokcli.errors import PatternError, PatternTimeoutError
from tokcli.formats.limits import MAX_DEPTH, MAX_PATTERN_CHARS, MAX_RANK
from tokcli.formats.strict_json import JsonNode

Component = TypeVar("Component")
Readers: TypeAlias = Mapping[str, Callable[[JsonNode, int], tuple[Component, ...]]]  # by type

_SCHEMES: dict[str, PrependScheme] = {"always": "always", "first": "first", "never": "never"}


def read_component(node: JsonNode, readers: Readers[Component], depth: int) -> tuple[Component, ...]:
    """Return what the reader for the type of an object makes of it; `depth` counts the objects around it."""
    if depth > MAX_DEPTH:
        node.fail("nested too deeply")
    return node.member("type").choice(readers)(node, depth + 1)


def read_list(
    node: JsonNode, read: Callable[[JsonNode, int], tuple[Component, ...]], depth: int
) -> tuple[Component, ...]:
    """Return what the objects of a list describe, in a row."""
    return tuple(component for item in node.list() for component in read(item, depth))


def read_pattern(node: JsonNode) -> Pattern:
    """Return the pattern that {"String": ...} or {"Regex": ...} describes."""
    if len(node.expect(dict)) != 1:
        node.fail("expected a String or a Regex, and only one of them")
    if node.has("String"):
        text = node.member("String").text()
        if not text:
            node.fail("an empty text would be found everywhere")
        return LiteralText(text)
    pattern = node.member("Regex").text()
    if len(pattern) > MAX_PATTERN_CHARS:
        node.fail(f"a pattern of {len(pattern)} characters; at most {MAX_PATTERN_CHARS} are read")
    try:
        compiled(pattern)
    except PatternTimeoutError:
        raise
    except PatternError as error:
        node.fail(str(error))
    return OnigPattern(pattern)


def read_prepend_scheme(node: JsonNode) -> PrependScheme:
    """Return when a Metaspace puts a space first; `add_prefix_space`, in older files, must not contradict it."""
    scheme = node.member("prepend_scheme").choice(_SCHEMES, "always")
    if node.has("add_prefix_space") and not node.member("add_prefix_space").flag() and scheme != "never":
        node.member("add_prefix_space").fail("it contradicts prepend_scheme")
    return scheme


# --- decoders ---


def decoder_of(top: JsonNode) -> tuple[Decoder, ...]:
    """Return the decoders of a file, one after the other; if it names none, one that joins tokens with spaces."""
    node = top.member("decoder")
    return (decoders.Spaced(),) if node.value is None else read_decoder(node)


def read_decoder(node: JsonNode, depth: int = 0) -> tuple[Decoder, ...]:
    """Return the decoders that an object describes, one after the other."""
    return read_component(node, _DECODERS, depth)


def _byte_level(node: JsonNode) -> Decoder:
    for name in ("add_prefix_space", "trim_offsets"):
        node.member(name).flag()  # they have no effect here, but are required
    node.member("use_regex").flag(True)
    return decoders.ByteLevelDecoder()


def _metaspace(node: JsonNode) -> Decoder:
    node.nullable("split").flag(True)  # it has no effect here
    return decoders.MetaspaceDecoder(node.member("replacement").character(), read_prepend_scheme(node) != "never")


_DECODERS: Readers[Decoder] = {
    "BPEDecoder": lambda n, _: (decoders.BpeSuffix(n.member("suffix").text()),),
    "ByteLevel": lambda n, _: (_byte_level(n),),
    "WordPiece": lambda n, _: (decoders.WordPieceDecoder(n.member("prefix").text(), n.member("cleanup").flag()),),
    "Metaspace": lambda n, _: (_metaspace(n),),
    "CTC": lambda n, _: (
        decoders.Ctc(
            n.member("pad_token").text(),
            n.member("word_delimiter_token").text(),
            n.member("cleanup").flag(),
        ),
    ),
    "Sequence": lambda n, d: read_list(n.member("decoders"), read_decoder, d),
    "Replace": lambda n, _: (decoders.ReplaceDecoder(read_pattern(n.member("pattern")), n.member("content").text()),),
    "Fuse": lambda *_: (decoders.Fuse(),),
    "Strip": lambda n, _: (
        decoders.StripDecoder(
            n.member("content").character(),
            n.member("start").whole(0, MAX_RANK),
            n.member("stop").whole(0, MAX_RANK),
        ),
    ),
    "ByteFallback": lambda *_: (decoders.ByteFallback(),),
}
