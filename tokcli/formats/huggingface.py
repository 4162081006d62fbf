"""Hugging Face's tokenizer.json: a pipeline of parts and the model's tables, all in one file.

What the file says is checked here, once; truncation and padding, which are about batches of a model's inputs, are not
taken over, and dropout, which is about training, neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tokcli.engine.added_tokens import AddedToken
from tokcli.engine.byte_alphabet import bytes_of
from tokcli.engine.known_patterns import GPT2, IN_A_ROW, NUMBER
from tokcli.engine.matching import KNOWN_ALIKE
from tokcli.engine.models import Model, WordLevel, WordPiece
from tokcli.engine.pair_bpe import SHIFT, PairBpe
from tokcli.engine.pattern import Ranges, merged, minus, parse_ranges, unicode16_ranges
from tokcli.engine.pipeline import Pipeline
from tokcli.engine.unigram import Unigram
from tokcli.formats.gpt2 import check_ids, parse_json_strictly
from tokcli.formats.huggingface_decoders import decoder_of
from tokcli.formats.huggingface_parts import (
    asks_for_start,
    read_normalizer,
    read_processor,
    read_splitter,
)
from tokcli.formats.json_node import Node
from tokcli.formats.json_numbers import serde_float
from tokcli.formats.limits import MAX_RANK, MAX_TOKEN_BYTES, MAX_TOKENS

MAX_MERGES = 4 * MAX_TOKENS  # every token may have several; the most in use are some 500,000


def parse_huggingface(data: bytes, name: str) -> Pipeline:
    """The tokenizer in a tokenizer.json; VocabularyError names what in it is wrong, and where."""
    top = Node(parse_json_strictly(data, name, serde_float), name)
    model = read_model(top.member("model"))
    return read_parts(top, model, read_added_tokens(top.member("added_tokens"), model))


PARTS = ("normalizer", "pre_tokenizer", "post_processor", "decoder")


def read_parts(top: Node, model: Model, added: Sequence[AddedToken]) -> Pipeline:
    """The tokenizer with the parts that an object describes beside its model and its added tokens."""
    splitter, decoder = top.member("pre_tokenizer"), top.member("decoder")
    cuts = None if splitter.value is None else _cuts(splitter.value)
    kinds = _types(splitter.value) | _types(decoder.value)
    is_byte_level = "ByteLevel" in kinds
    return Pipeline(
        model=model,
        decoder=decoder_of(top),
        normalizer=read_normalizer(top.member("normalizer")) if top.has("normalizer") else None,
        splitter=None if splitter.value is None else read_splitter(splitter),
        processor=read_processor(top.member("post_processor")) if top.has("post_processor") else None,
        added=added,
        token_text=_byte_level_text if is_byte_level else _text_of,
        is_byte_level=is_byte_level,
        needs_start=splitter.value is not None and asks_for_start(splitter),
        pat_str=None if cuts is None else cuts.pat_str,
        unsafe=() if cuts is None else cuts.unsafe,
        prefix_space=cuts is not None and cuts.prefix_space,
        parts={key: top.value[key] for key in PARTS if key in top.value},
    )


class Cuts(NamedTuple):
    """What a pre-tokenizer that ends with bytes does: a pattern's pieces."""

    pat_str: str
    unsafe: Ranges = ()  # characters with which it does something else
    prefix_space: bool = False


def _cuts(splitter: Any) -> Cuts | None:
    """The known pattern that a pre-tokenizer which was read cuts by, if bytes are all that comes after it."""
    parts = splitter["pretokenizers"] if splitter.get("type") == "Sequence" else [splitter]
    if not parts or parts[-1].get("type") != "ByteLevel":
        return None
    as_bytes, patterns, has_digits = parts[-1], [], False
    for part in parts[:-1]:
        pattern = as_escapes(part["pattern"].get("Regex")) if part.get("type") == "Split" else None
        if part.get("type") == "Digits" and part.get("individual_digits"):
            pattern, has_digits = NUMBER, True
        elif pattern is None or not _keeps_all(part, pattern):
            return None
        patterns.append(pattern)
    if as_bytes.get("use_regex", True):
        patterns.append(GPT2)
    one = IN_A_ROW.get(tuple(patterns)) or (patterns[0] if len(patterns) == 1 else None)
    prefix_space = as_bytes.get("add_prefix_space", True)
    if one not in KNOWN_ALIKE or (prefix_space and len(parts) > 1):
        return None
    return Cuts(one, _newer_numbers() if has_digits else (), prefix_space)


def as_escapes(pattern: str | None) -> str | None:
    r"""A pattern as the known ones are written: line ends as escapes, which some files have as characters.

    >>> as_escapes("[^\r\n]") == r"[^\r\n]"
    True
    """
    if pattern is None or "\\\r" in pattern or "\\\n" in pattern:
        return pattern
    return pattern.replace("\r", r"\r").replace("\n", r"\n")


def _keeps_all(split: dict[str, Any], pattern: str) -> bool:
    """Whether a Split leaves matches, and what stands between them, each as a piece."""
    if split["behavior"] == "Isolated":
        return True
    return split["behavior"] == "Removed" and bool(split.get("invert")) and pattern in KNOWN_ALIKE


def _newer_numbers() -> Ranges:
    """The digits that the library knows and our patterns do not (they came with Unicode 17)."""
    from tokcli.engine.unicode_hf import NUMERIC

    return minus(merged(parse_ranges(NUMERIC)), unicode16_ranges("N") or ())


def _types(value: Any) -> set[str]:
    """The types of a part and of those in it."""
    if not isinstance(value, dict):
        return set()
    found = {str(value.get("type"))}
    for key in ("pretokenizers", "decoders"):
        items = value.get(key)
        for item in items if isinstance(items, list) else ():
            found |= _types(item)
    return found


def _byte_level_text(token: str) -> bytes:
    data = bytes_of(token)
    return token.encode() if data is None else data


def _text_of(token: str) -> bytes:
    if len(token) == 6 and token.startswith("<0x") and token.endswith(">"):
        try:
            return bytes.fromhex(token[3:5])
        except ValueError:
            pass
    return token.replace("\u2581", " ").encode()


def read_model(node: Node) -> Model:
    """The model that an object describes; old files do not say its type."""
    kind = node.member("type").value
    if kind is None:
        if node.has("merges"):
            kind = "BPE"
        elif isinstance(node.member("vocab").value, list):
            kind = "Unigram"
        else:
            kind = "WordPiece" if node.has("continuing_subword_prefix") else "WordLevel"
    readers = {"BPE": _read_bpe, "WordPiece": _read_wordpiece, "WordLevel": _read_wordlevel, "Unigram": _read_unigram}
    made: Model = Node(kind, node.file, f"{node.path}.type").choice(readers)(node)
    return made


def _ids(node: Node) -> dict[str, int]:
    node.items()  # says what else it is
    return check_ids(node.value, f"{node.file}: {node.path}")


def _read_bpe(node: Node) -> PairBpe:
    ids = _ids(node.member("vocab"))
    prefix = node.member("continuing_subword_prefix").text("")
    unk = node.member("unk_token")
    return PairBpe(
        ids=ids,
        merges=read_merges(node.member("merges"), ids, len(prefix)),
        unk_token=None if unk.value is None else unk.text(),
        fuse_unk=node.member("fuse_unk").flag(False),
        byte_fallback=node.member("byte_fallback").flag(False),
        ignore_merges=node.member("ignore_merges").flag(False),
        prefix=prefix,
        suffix=node.member("end_of_word_suffix").text(""),
        name=node.file,
    )


def read_merges(node: Node, ids: dict[str, int], prefix: int) -> dict[int, tuple[int, int]]:
    """Merges, each "left right" or [left, right]; `prefix` characters of the right one are left out when they join."""
    merges: dict[int, tuple[int, int]] = {}
    items = node._expect(list)
    if len(items) > MAX_MERGES:
        node.fail(f"{len(items)} merges, more than the {MAX_MERGES} that are read")
    least = max(prefix, 1)
    try:  # which does when nothing is wrong, and takes half the time
        pairs = [item.split(" ") if type(item) is str else item for item in items if item[:8] != "#version"]
        if all(len(pair) == 2 and pair[0] and len(pair[1]) >= least for pair in pairs):
            made = [ids[left + right[prefix:]] for left, right in pairs]
            return dict(zip([ids[a] << SHIFT | ids[b] for a, b in pairs], enumerate(made), strict=True))
    except (TypeError, KeyError, AttributeError):
        pass  # named below
    rank = 0
    for at, item in enumerate(items):
        if type(item) is str:
            if item.startswith("#version"):
                continue
            left, _, right = item.partition(" ")
            if not left or not right or " " in right:
                Node(item, node.file, f"{node.path}[{at}]").fail("expected two tokens and one space between them")
        elif type(item) is list and len(item) == 2 and type(item[0]) is type(item[1]) is str:
            left, right = item
        else:
            Node(item, node.file, f"{node.path}[{at}]").fail("expected two tokens")
        if len(right) < prefix:  # tokenizers 0.23 panics
            Node(item, node.file, f"{node.path}[{at}]").fail("the second token is shorter than the prefix of words")
        try:
            merges[ids[left] << SHIFT | ids[right]] = rank, ids[left + right[prefix:]]
        except KeyError as error:
            Node(item, node.file, f"{node.path}[{at}]").fail(f"{ascii(error.args[0])[:60]} is not in the vocabulary")
        rank += 1
    return merges


def _read_wordpiece(node: Node) -> WordPiece:
    return WordPiece(
        _ids(node.member("vocab")),
        node.member("unk_token").text("[UNK]"),
        node.member("continuing_subword_prefix").text("##"),
        node.member("max_input_chars_per_word").whole(0, MAX_RANK, 100),
    )


def _read_wordlevel(node: Node) -> WordLevel:
    return WordLevel(_ids(node.member("vocab")), node.member("unk_token").text("<unk>"))


def _read_unigram(node: Node) -> Unigram:
    vocab = node.member("vocab")
    items = vocab._expect(list)
    if len(items) > MAX_TOKENS:
        vocab.fail(f"{len(items)} tokens, more than the {MAX_TOKENS} that are read")
    pieces = []
    for at, item in enumerate(items):
        if type(item) is not list or len(item) != 2 or type(item[0]) is not str or type(item[1]) not in (int, float):
            Node(item, vocab.file, f"{vocab.path}[{at}]").fail("expected a token and its score")
        text, score = item
        if len(text) > MAX_TOKEN_BYTES or not -1e300 < score < 1e300:
            Node(item, vocab.file, f"{vocab.path}[{at}]").fail("a token too long, or a score that is no number")
        pieces.append((text, float(score)))
    unk = node.member("unk_id")
    unk_id = None if unk.value is None else unk.whole(0, max(len(pieces) - 1, 0))
    if not pieces:
        vocab.fail("there is no token in it")
    return Unigram(pieces, unk_id, node.member("byte_fallback").flag(False))


def read_added_tokens(node: Node, model: Model) -> list[AddedToken]:
    """The added tokens. As in the library, one that the model knows has the model's id; others are counted on."""
    if node.value is None:
        return []
    ids: dict[str, int] = {}
    by_id: dict[int, AddedToken] = {}
    following = len(model.ids)
    for item in node.list():
        content = item.member("content").text()
        if not content:
            continue
        number = ids.get(content, model.ids.get(content))
        if number is None:
            number = following
            following += 1
        special = item.member("special").flag(False)
        ids[content] = number
        by_id[number] = AddedToken(
            content,
            number,
            single_word=item.member("single_word").flag(False),
            lstrip=item.member("lstrip").flag(False),
            rstrip=item.member("rstrip").flag(False),
            normalized=item.member("normalized").flag(not special),
            special=special,
        )
    return list(by_id.values())
