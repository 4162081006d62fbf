"""The decoder that a tokenizer.json names, by its type."""

from __future__ import annotations

from collections.abc import Callable

from tokcli.engine import detokenizer
from tokcli.formats.huggingface_shared import finder, part, scheme
from tokcli.formats.json_node import Node
from tokcli.formats.limits import MAX_RANK


def read_decoder(node: Node, depth: int = 0) -> detokenizer.Decoder:
    """The decoder that an object describes."""
    made: detokenizer.Decoder = part(node, _DECODERS, depth)
    return made


_DECODERS: dict[str, Callable[[Node, int], detokenizer.Decoder]] = {
    "BPEDecoder": lambda n, _: detokenizer.BpeSuffix(n.member("suffix").text("</w>")),
    "ByteLevel": lambda *_: detokenizer.ByteLevel(),
    "WordPiece": lambda n, _: detokenizer.WordPiece(n.member("prefix").text("##"), n.member("cleanup").flag(True)),
    "Metaspace": lambda n, _: detokenizer.Metaspace(n.member("replacement").character(), scheme(n) != "never"),
    "CTC": lambda n, _: detokenizer.Ctc(
        n.member("pad_token").text("<pad>"),
        n.member("word_delimiter_token").text("|"),
        n.member("cleanup").flag(True),
    ),
    "Sequence": lambda n, d: detokenizer.Sequence(tuple(read_decoder(x, d) for x in n.member("decoders").list())),
    "Replace": lambda n, _: detokenizer.Replace(finder(n.member("pattern"))[0], n.member("content").text()),
    "Fuse": lambda *_: detokenizer.Fuse(),
    "Strip": lambda n, _: detokenizer.Strip(
        n.member("content").character(),
        n.member("start").whole(0, MAX_RANK),
        n.member("stop").whole(0, MAX_RANK),
    ),
    "ByteFallback": lambda *_: detokenizer.ByteFallback(),
}


def decoder_of(top: Node) -> detokenizer.Decoder:
    """The decoder of a file: tokens with spaces between them, where it names none."""
    node = top.member("decoder")
    return detokenizer.Spaced() if node.value is None else read_decoder(node)
