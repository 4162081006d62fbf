"""The compact form in which a byte-level tokenizer.json ships with the package: what its ranks do not say, as text.

A template is the tokenizer.json, to the byte, in which one line stands for the tokens of the vocabulary and one for the
merges. The tokens are in a packed file of ranks (packed_ranks.py), and the merges in a file of one byte for each: the
length of the first of its two tokens. The merges make the last tokens of the ranks, in their order.
"""

from __future__ import annotations

import re

from tokcli.engine.bpe.byte_alphabet import CHAR_OF
from tokcli.errors import VocabularyError
from tokcli.formats.packed_ranks import unpack

VOCAB = re.compile(r"^( *)@vocab\n", re.MULTILINE)
MERGES = re.compile(r"^( *)@(merges|pairs)\n", re.MULTILINE)  # "a b", or [a, b] in four lines

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


def _spelled(token: bytes) -> str:
    r"""Return a token in the alphabet of bytes, as JSON has it between quotes.

    >>> _spelled(b' "')
    'Ġ\\"'
    """
    return token.decode("latin-1").translate(_TEXT)
