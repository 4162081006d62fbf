"""The decoder that a tokenizer.json names, and what the readers of all components share.

Reading the decoder alone, without the other components, is cheap.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TypeAlias, TypeVar

from tokcli.engine.pipeline import decoders
from tokcli.engine.pipeline.finders import Finder, LiteralText, OnigPattern
from tokcli.engine.pipeline.pretokenizers import PrependScheme
from tokcli.errors import PatternError, PatternTimeoutError
from tokcli.formats.limits import MAX_DEPTH, MAX_PATTERN_CHARS, MAX_RANK
from tokcli.formats.strict_json import JsonNode

Component = TypeVar("Component")
Readers: TypeAlias = Mapping[str, Callable[[JsonNode, int], Component]]  # type -> reader of an object and its depth

_SCHEMES: dict[str, PrependScheme] = {"always": "always", "first": "first", "never": "never"}


def read_component(node: JsonNode, readers: Readers[Component], depth: int) -> Component:
    """Return what the reader for the type of an object makes of it; `depth` counts the objects around it."""
    if depth > MAX_DEPTH:
        node.fail("nested too deeply")
    return node.member("type").choice(readers)(node, depth + 1)


def read_finder(node: JsonNode) -> tuple[Finder, str | None]:
    """Return the finder that {"String": ...} or {"Regex": ...} describes, and the text of a String (else None)."""
    if len(node.expect(dict)) != 1:
        node.fail("expected a String or a Regex, and only one of them")
    if node.has("String"):
        text = node.member("String").text()
        if not text:
            node.fail("an empty text would be found everywhere")
        return LiteralText(text), text
    pattern = node.member("Regex").text()
    if len(pattern) > MAX_PATTERN_CHARS:
        node.fail(f"a pattern of {len(pattern)} characters; at most {MAX_PATTERN_CHARS} are read")
    try:
        return OnigPattern(pattern), None
    except PatternTimeoutError:
        raise
    except PatternError as error:
        node.fail(str(error))


def read_prepend_scheme(node: JsonNode) -> PrependScheme:
    """Return when a Metaspace puts a space first; `add_prefix_space`, in older files, must not contradict it."""
    scheme = node.member("prepend_scheme").choice(_SCHEMES, "always")
    if node.has("add_prefix_space") and not node.member("add_prefix_space").flag() and scheme != "never":
        node.member("add_prefix_space").fail("it contradicts prepend_scheme")
    return scheme


# --- decoders ---


def decoder_of(top: JsonNode) -> decoders.Decoder:
    """Return the decoder of a file; if the file names none, one that joins tokens with spaces."""
    node = top.member("decoder")
    return decoders.Spaced() if node.value is None else read_decoder(node)


def decoder_in(components: str, name: str) -> decoders.Decoder:
    """Return the decoder in the JSON of an object with a member `decoder`, of the file with this name."""
    return decoder_of(JsonNode(json.loads(components), name))


def read_decoder(node: JsonNode, depth: int = 0) -> decoders.Decoder:
    """Return the decoder that an object describes."""
    return read_component(node, _DECODERS, depth)


def _byte_level(node: JsonNode, _: int) -> decoders.Decoder:
    for name in ("add_prefix_space", "trim_offsets"):
        node.member(name).flag()  # they have no effect here, but are required
    node.member("use_regex").flag(True)
    return decoders.ByteLevelDecoder()


def _metaspace(node: JsonNode, _: int) -> decoders.Decoder:
    node.nullable("split").flag(True)  # it has no effect here
    return decoders.MetaspaceDecoder(node.member("replacement").character(), read_prepend_scheme(node) != "never")


_DECODERS: Readers[decoders.Decoder] = {
    "BPEDecoder": lambda n, _: decoders.BpeSuffix(n.member("suffix").text()),
    "ByteLevel": _byte_level,
    "WordPiece": lambda n, _: decoders.WordPieceDecoder(n.member("prefix").text(), n.member("cleanup").flag()),
    "Metaspace": _metaspace,
    "CTC": lambda n, _: decoders.Ctc(
        n.member("pad_token").text(),
        n.member("word_delimiter_token").text(),
        n.member("cleanup").flag(),
    ),
    "Sequence": lambda n, d: decoders.DecoderSequence(tuple(read_decoder(x, d) for x in n.member("decoders").list())),
    "Replace": lambda n, _: decoders.ReplaceDecoder(read_finder(n.member("pattern"))[0], n.member("content").text()),
    "Fuse": lambda *_: decoders.Fuse(),
    "Strip": lambda n, _: decoders.StripDecoder(
        n.member("content").character(),
        n.member("start").whole(0, MAX_RANK),
        n.member("stop").whole(0, MAX_RANK),
    ),
    "ByteFallback": lambda *_: decoders.ByteFallback(),
}
