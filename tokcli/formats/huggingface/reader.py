"""Hugging Face's tokenizer.json: a pipeline of components and the model's tables, all in one file.

What the file says is checked here, once. Truncation and padding, which are about batches of a model's inputs, are not
applied (see batching.py), and neither is dropout, which is about training.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tokcli.engine.base.arguments import MAX_ID
from tokcli.engine.bindings import pipelines  # noqa: F401 (makes the native twin)
from tokcli.engine.bpe.byte_alphabet import bytes_of
from tokcli.engine.pipeline.added_tokens import AddedToken
from tokcli.engine.pipeline.models import Model, Unigram
from tokcli.engine.pipeline.pipeline import Pipeline
from tokcli.engine.pipeline.processors import copies
from tokcli.formats.huggingface.batching import batching_notes, dropout_notes
from tokcli.formats.huggingface.components import asks_for_start, read_normalizer, read_pre_tokenizer, read_processor
from tokcli.formats.huggingface.cut_pattern import CutPattern, cut_pattern_of
from tokcli.formats.huggingface.decoders import decoder_of
from tokcli.formats.huggingface.model_tables import read_model
from tokcli.formats.limits import MAX_NORMALIZED, MAX_PARTS, MAX_TOKEN_BYTES
from tokcli.formats.strict_json import JsonNode, parse_json_strictly, serde_float

COMPONENTS = ("normalizer", "pre_tokenizer", "post_processor", "decoder")  # all but the model and the added tokens
_ROLES = "role_to_token"  # of tokenizers 1.0: which token ends texts, begins or pads them
_MEMBERS = frozenset({"version", "truncation", "padding", "added_tokens", "model", _ROLES, *COMPONENTS})


def parse_huggingface(data: bytes, name: str) -> Pipeline:
    """Return the tokenizer in a tokenizer.json; a VocabularyError names the file and the member."""
    return read_tokenizer(JsonNode(parse_json_strictly(data, name, serde_float), name))


def read_tokenizer(top: JsonNode) -> Pipeline:
    """Return the tokenizer that the members of a tokenizer.json describe."""
    members = top.expect(dict)
    if "version" in members and members["version"] != "1.0":
        top.member("version").fail('expected "1.0"')
    for member in members.keys() - _MEMBERS:
        top.member(member).fail("no member of a tokenizer.json")
    if members.get(_ROLES) is not None:
        roles = top.member(_ROLES)
        for role in roles.expect(dict):
            roles.member(role).text()
    notes = batching_notes(top)
    model = read_model(top.member("model"))
    notes += dropout_notes(top.member("model"))
    added = read_added_tokens(top.member("added_tokens"), model) if "added_tokens" in members else []
    return read_components(top, model, added, notes)


def read_components(top: JsonNode, model: Model, added: Sequence[AddedToken], notes: Sequence[str] = ()) -> Pipeline:
    """Return the tokenizer made of a model, its added tokens, and the other components that an object describes."""
    parts_of = {name: _parts(top.member(name).value) for name in COMPONENTS}
    if (number := sum(parts_of.values())) > MAX_PARTS:
        top.fail(f"{number} components; at most {MAX_PARTS} are read")
    normalized = sum(token.normalized for token in added)
    if (number := parts_of["normalizer"]) * normalized > MAX_NORMALIZED:
        top.member("normalizer").fail(f"{number} normalizers for {normalized} added tokens, which are too many")
    pre_tokenizer, decoder = top.member("pre_tokenizer"), decoder_of(top)
    splitter = None if pre_tokenizer.value is None else read_pre_tokenizer(pre_tokenizer)
    cuts = CutPattern() if splitter is None else cut_pattern_of(pre_tokenizer.value, splitter)
    is_byte_level = "ByteLevel" in _types(pre_tokenizer.value) | _types(top.value.get("decoder"))
    processor = read_processor(top.member("post_processor")) if top.has("post_processor") else None
    if copies(processor) > 1:
        top.member("post_processor").fail("a template that takes a text more than once is not supported")
    return Pipeline(
        model=model,
        decoder=decoder,
        normalizer=read_normalizer(top.member("normalizer")) if top.has("normalizer") else None,
        splitter=splitter,
        processor=processor,
        added=added,
        token_text=_byte_level_text if is_byte_level else _text_of,
        is_byte_level=is_byte_level,
        needs_start=splitter is not None and asks_for_start(pre_tokenizer),
        pat_str=cuts.pat_str,
        row=cuts.row,
        unsafe=cuts.unsafe,
        exact=cuts.exact,
        prefix_space=cuts.prefix_space,
        file_notes=notes,
        parts={key: top.value[key] for key in COMPONENTS if key in top.value},
    )


def _parts(value: Any) -> int:
    """Return the number of components in a component, itself included."""
    waiting, number = [value], 0
    while waiting:
        if isinstance(one := waiting.pop(), dict):
            number += 1
            waiting += [part for name in _LISTS if isinstance(parts := one.get(name), list) for part in parts]
    return number


_LISTS = ("normalizers", "pretokenizers", "processors", "decoders")


def _types(value: Any) -> set[str]:
    """Return the types of a component and of those inside it."""
    if not isinstance(value, dict):
        return set()
    found = {str(value.get("type"))}
    for key in ("pretokenizers", "decoders"):
        items = value.get(key)
        for item in items if isinstance(items, list) else ():
            found |= _types(item)
    return found


def _byte_level_text(token: str) -> bytes:
    """Return the bytes that the characters of a byte-level token stand for; for any other token, its UTF-8."""
    data = bytes_of(token)
    return token.encode() if data is None else data


def _text_of(token: str) -> bytes:
    """Return the bytes of a token: <0xE9> is a byte, and U+2581 a space."""
    if len(token) == 6 and token.startswith("<0x") and token.endswith(">"):
        try:
            return bytes.fromhex(token[3:5])
        except ValueError:
            pass
    return token.replace("\u2581", " ").encode()


def read_added_tokens(node: JsonNode, model: Model) -> list[AddedToken]:
    """Return the added tokens. As in the library, one that the model knows has the model's id, others the next ids."""
    ids: dict[str, int] = {}
    by_id: dict[int, AddedToken] = {}
    following = len(model.pieces) if isinstance(model, Unigram) else len(model.ids)  # a Unigram's pieces may repeat
    for at, members in enumerate(node.expect(list)):
        if not _is_added_token(members):
            _check_added_token(JsonNode(members, node.file, f"{node.path}[{at}]"))
        content, special = members["content"], members.get("special", False)
        if not content:
            continue
        number = ids.get(content, model.ids.get(content))
        if number is None:
            number = following
            following += 1
        ids[content] = number
        before = by_id.get(number)
        by_id[number] = AddedToken(
            content,
            number,
            single_word=members.get("single_word", False),
            lstrip=members.get("lstrip", False),
            rstrip=members.get("rstrip", False),
            normalized=members.get("normalized", not special),
            special=special,
            was_normalized=before is not None and (before.normalized or before.was_normalized),
        )
    return list(by_id.values())


def _is_added_token(members: Any) -> bool:
    """Return whether a value is an added token as files usually have them; quick, since there may be 200,000."""
    if type(members) is not dict:
        return False
    number, content = members.get("id"), members.get("content")
    return (
        type(number) is int
        and 0 <= number <= MAX_ID
        and type(content) is str
        and len(content) <= MAX_TOKEN_BYTES
        and all(type(members.get(flag, False)) is bool for flag in _FLAGS)
    )


_FLAGS = ("special", "single_word", "lstrip", "rstrip", "normalized")


def _check_added_token(item: JsonNode) -> None:
    """Raise VocabularyError unless an item is an added token; flags that it lacks have their usual values."""
    item.member("id").whole(0, MAX_ID)  # it is not used, but must be an id
    content = item.member("content").text()
    if len(content) > MAX_TOKEN_BYTES:
        item.fail(f"a token of {len(content)} characters; at most {MAX_TOKEN_BYTES} are read")
    for flag in _FLAGS:
        item.member(flag).flag(False)
