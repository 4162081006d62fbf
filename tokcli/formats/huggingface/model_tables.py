"""The model of a tokenizer.json: its vocabulary with merges or scores, each checked against the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from tokcli.engine.bpe.pairs import SHIFT, MergeList
from tokcli.engine.spec.models import PairMerges, Pairs, TokenizerJsonModel, Unigram, WordLevel, WordPiece
from tokcli.formats.limits import MAX_AFFIX_CHARS, MAX_MERGES, MAX_RANK, MAX_TOKEN_BYTES, MAX_TOKENS
from tokcli.formats.refusals import shown_text
from tokcli.formats.strict_json import JsonNode, check_ids

_MAX_SCORE = 1e300  # sums of many scores stay finite


def read_model(node: JsonNode) -> TokenizerJsonModel:
    """Return the model that an object describes; the type of a model in an old file follows from its members."""
    named = node.member("type")
    kind = named.value
    if named.is_missing:
        if node.has("merges"):
            kind = "BPE"
        elif isinstance(node.member("vocab").value, list):
            kind = "Unigram"
        else:
            kind = "WordPiece" if node.has("continuing_subword_prefix") else "WordLevel"
    readers: dict[str, Callable[[JsonNode], TokenizerJsonModel]] = {
        "BPE": _read_bpe,
        "WordPiece": _read_wordpiece,
        "WordLevel": _read_wordlevel,
        "Unigram": _read_unigram,
    }
    return JsonNode(kind, node.file, f"{node.path}.type").choice(readers)(node)


def _ids(node: JsonNode) -> dict[str, int]:
    node.expect(dict)
    return check_ids(node.value, f"{node.file}: {node.path}")


def _read_bpe(node: JsonNode) -> Pairs:
    ids = _ids(node.member("vocab"))
    prefix, suffix = (_affix(node.nullable(name)) for name in ("continuing_subword_prefix", "end_of_word_suffix"))
    unk, dropout = node.member("unk_token"), node.member("dropout")
    if dropout.value is not None and not (type(dropout.value) in (int, float) and 0 <= dropout.value <= 1):
        dropout.fail("expected a number from 0 to 1")
    return Pairs(
        ids=ids,
        merges=read_merges(node.member("merges"), ids, len(prefix)),
        unk_token=None if unk.value is None else unk.text(),
        fuse_unk=node.nullable("fuse_unk").flag(False),
        byte_fallback=node.nullable("byte_fallback").flag(False),
        ignore_merges=node.nullable("ignore_merges").flag(False),
        prefix=prefix,
        suffix=suffix,
    )


def _affix(node: JsonNode) -> str:
    """Return a text that is put before or after characters; null is an empty one."""
    text = node.text("")
    if len(text) > MAX_AFFIX_CHARS:
        node.fail(f"{len(text)} characters; at most {MAX_AFFIX_CHARS} are read")
    return text


def read_merges(node: JsonNode, ids: dict[str, int], prefix: int) -> PairMerges:
    """Return merges, each "left right" or [left, right]; joining them drops `prefix` characters of the right token."""
    items = node.expect(list)
    if len(items) > MAX_MERGES:
        node.fail(f"{len(items)} merges; at most {MAX_MERGES} are read")
    version = bool(items) and type(items[0]) is str and items[0].startswith("#version")
    if (listed := MergeList.of(ids, items[version:], prefix)) is not None:
        return listed
    merges: dict[int, tuple[int, int]] = {}
    rank = 0
    for at, item in enumerate(items):
        if type(item) is str and item.startswith("#version"):
            continue
        pair = item.split(" ") if type(item) is str else item
        if type(pair) is not list or len(pair) != 2 or not (type(pair[0]) is type(pair[1]) is str):
            _refuse_merge(node, at, "expected two tokens (in a text, with one space between them)")
        left, right = pair
        if not (left and right) and type(item) is str:
            _refuse_merge(node, at, "expected two tokens with one space between them")
        if len(right) < prefix:  # tokenizers 0.23 panics
            _refuse_merge(node, at, "the second token is shorter than the prefix of words")
        try:
            merges[ids[left] << SHIFT | ids[right]] = rank, ids[left + right[prefix:]]
        except KeyError as error:
            _refuse_merge(node, at, f"{shown_text(error.args[0])} is not in the vocabulary")
        rank += 1
    return merges


def _refuse_merge(node: JsonNode, at: int, what: str) -> NoReturn:
    JsonNode(node.value[at], node.file, f"{node.path}[{at}]").fail(what)


def _read_wordpiece(node: JsonNode) -> WordPiece:
    return WordPiece(
        _ids(node.member("vocab")),
        node.member("unk_token").text(),
        node.member("continuing_subword_prefix").text(),
        node.member("max_input_chars_per_word").whole(0, MAX_RANK),
    )


def _read_wordlevel(node: JsonNode) -> WordLevel:
    return WordLevel(_ids(node.member("vocab")), node.member("unk_token").text())


def _read_unigram(node: JsonNode) -> Unigram:
    vocab = node.member("vocab")
    items = vocab.expect(list)
    if not 0 < len(items) <= MAX_TOKENS:
        vocab.fail(f"{len(items)} tokens; 1 to {MAX_TOKENS} are read")
    pieces: list[tuple[str, float]] = []
    for at, item in enumerate(items):
        if type(item) is not list or len(item) != 2 or type(item[0]) is not str or type(item[1]) not in (int, float):
            JsonNode(item, vocab.file, f"{vocab.path}[{at}]").fail("expected a token and its score")
        text, score = item
        if len(text) > MAX_TOKEN_BYTES or not -_MAX_SCORE < score < _MAX_SCORE:
            JsonNode(item, vocab.file, f"{vocab.path}[{at}]").fail("a token too long, or a score that is too large")
        pieces.append((text, float(score)))
    unk = node.member("unk_id")
    unk_id = None if unk.value is None else unk.whole(0, len(pieces) - 1)
    return Unigram(pieces, unk_id, node.member("byte_fallback").flag(False))
