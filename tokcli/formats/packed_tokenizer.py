"""The compact form in which a tokenizer's file ships with the package: what its ranks do not say, as text.

A template is the file, to the byte, in which one line stands for the tokens of the vocabulary, which are in a packed
file of ranks (packed_ranks.py). In the template of a byte-level tokenizer.json, another line stands for the merges.
They are in a file of one byte for each: the length of the first of its two tokens. They make the last tokens of the
ranks, in their order. A tekken.json has no merges.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode

from tokcli.engine.bpe.byte_alphabet import CHAR_OF
from tokcli.errors import VocabularyError
from tokcli.formats.packed_ranks import unpack

VOCAB = re.compile(r"^( *)@vocab\n", re.MULTILINE)
MERGES = re.compile(r"^( *)@(merges|pairs)\n", re.MULTILINE)  # "a b", or [a, b] in four lines
# the tokens of a tekken.json, with their texts as Python's json writes them, or as jq does, which escapes only controls
TEKKEN = re.compile(r"^( *)@tekken(-ascii)?\n", re.MULTILINE)

_TEXT = {byte: {'"': '\\"', "\\": "\\\\"}.get(char, char) for byte, char in CHAR_OF.items()}


def tokenizer_json(template: bytes, ranks: bytes, lefts: bytes, name: str) -> bytes:
    """Return the tokenizer.json that packed files stand for; VocabularyError, which names it, if they are damaged."""
    text = template.decode()
    vocab, merges = VOCAB.search(text), MERGES.search(text)
    tokens = unpack(ranks, name)
    made = list(tokens)[len(tokens) - len(lefts) :]
    if vocab is None or merges is None or len(made) != len(lefts):
        raise VocabularyError("its template, ranks and merges do not fit; the files are damaged", where=name)
    indent, form = merges.groups()
    between, before, after = {
        "merges": (" ", f'{indent}"', '"'),
        "pairs": (f'",\n{indent}  "', f'{indent}[\n{indent}  "', f'"\n{indent}]'),
    }[form]
    lines = {
        vocab: [f'{vocab[1]}"{_spelled(token)}": {rank}' for token, rank in tokens.items()],
        merges: [
            f"{before}{_spelled(token[:left])}{between}{_spelled(token[left:])}{after}"
            for token, left in zip(made, lefts, strict=True)
        ],
    }
    for mark in sorted(lines, key=lambda found: -found.start()):
        text = "".join([text[: mark.start()], ",\n".join(lines[mark]), "\n", text[mark.end() :]])
    return text.encode()


def tekken_json(template: bytes, ranks: bytes, name: str) -> bytes:
    """Return the tekken.json that packed files stand for; VocabularyError, which names it, if they are damaged."""
    text = template.decode()
    mark = TEKKEN.search(text)
    if mark is None:
        raise VocabularyError("its template has no place for tokens; the file is damaged", where=name)
    indent, is_ascii = mark[1], mark[2] is not None
    inner = indent + " " * (len(indent) // 2)  # the list of tokens is two levels deep
    items = [
        f'{indent}{{\n{inner}"rank": {rank},\n{inner}"token_bytes": "{b64encode(token).decode()}",\n'
        f'{inner}"token_str": {_json(_text(token), is_ascii)}\n{indent}}}'
        for token, rank in unpack(ranks, name).items()
    ]
    return "".join([text[: mark.start()], ",\n".join(items), "\n", text[mark.end() :]]).encode()


def _json(text: str | None, is_ascii: bool) -> str:
    return json.dumps(text) if is_ascii else json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _text(token: bytes) -> str | None:
    try:
        return token.decode()
    except UnicodeDecodeError:
        return None


def _spelled(token: bytes) -> str:
    r"""Return a token in the alphabet of bytes, as JSON has it between quotes.

    >>> _spelled(b' "')
    'Ġ\\"'
    """
    return token.decode("latin-1").translate(_TEXT)
