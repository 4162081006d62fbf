"""Hugging Face's tokenizer.json: a pipeline of components and the model's tables, all in one file.

What the file says is checked here, once. Truncation and padding, which are about batches of a model's inputs, are not
applied (see batching.py), and neither is dropout, which is about training.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tokcli.engine.base.arguments import MAX_ID
from tokcli.engine.pipeline.processors import copies
from tokcli.engine.spec.added_token import AddedToken
from tokcli.engine.spec.models import TokenizerJsonModel, Unigram
from tokcli.engine.spec.spec import TokenizerSpec
from tokcli.formats.huggingface.batching import batching_notes, dropout_notes
from tokcli.formats.huggingface.components import read_normalizer, read_pre_tokenizer, read_processor
from tokcli.formats.huggingface.decoders import decoder_of
from tokcli.formats.huggingface.model_tables import read_model
from tokcli.formats.limits import MAX_NORMALIZED, MAX_PARTS, MAX_TOKEN_BYTES
from tokcli.formats.strict_json import JsonNode, parse_json_strictly, serde_float

_COMPONENTS = ("normalizer", "pre_tokenizer", "post_processor", "decoder")  # all but the model and the added tokens
_ROLES = "role_to_token"  # of tokenizers 1.0: which token ends texts, begins or pads them
_MEMBERS = frozenset({"version", "truncation", "padding", "added_tokens", "model", _ROLES, *_COMPONENTS})


def parse_huggingface(data: bytes, name: str) -> TokenizerSpec:
    """Return the tokenizer in a tokenizer.json; a VocabularyError names the file and the member."""
    return read_tokenizer(JsonNode(parse_json_strictly(data, name, serde_float), name))


def read_tokenizer(top: JsonNode) -> TokenizerSpec:
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


def read_components(
    top: JsonNode, model: TokenizerJsonModel, added: Sequence[AddedToken], notes: Sequence[str] = ()
) -> TokenizerSpec:
    """Return the tokenizer made of a model, its added tokens, and the other components that an object describes."""
    parts_of = {name: _parts(top.member(name).value) for name in _COMPONENTS}
    if (number := sum(parts_of.values())) > MAX_PARTS:
        top.fail(f"{number} components; at most {MAX_PARTS} are read")
    normalized = sum(token.normalized for token in added)
    if (number := parts_of["normalizer"]) * normalized > MAX_NORMALIZED:
        top.member("normalizer").fail(f"{number} normalizers for {normalized} added tokens, which are too many")
    decoder = decoder_of(top)
    splitter = read_pre_tokenizer(top.member("pre_tokenizer")) if top.has("pre_tokenizer") else ()
    template = read_processor(top.member("post_processor")) if top.has("post_processor") else None
    if template is not None and copies(template) > 1:
        top.member("post_processor").fail("a template that takes a text more than once is not supported")
    normalizer = read_normalizer(top.member("normalizer")) if top.has("normalizer") else ()
    return TokenizerSpec(model, tuple(added), normalizer, splitter, template, decoder, top.file, tuple(notes))


def _parts(value: Any) -> int:
    """Return the number of components in a component, itself included."""
    waiting, number = [value], 0
    while waiting:
        if isinstance(one := waiting.pop(), dict):
            number += 1
            waiting += [part for name in _LISTS if isinstance(parts := one.get(name), list) for part in parts]
    return number


_LISTS = ("normalizers", "pretokenizers", "processors", "decoders")


def read_added_tokens(node: JsonNode, model: TokenizerJsonModel) -> list[AddedToken]:
    """Return the added tokens. As in the library, one that the model knows has the model's id, others the next ids."""
    ids: dict[str, int] = {}
    by_id: dict[int, AddedToken] = {}
    known: Mapping[str, int]
    if isinstance(model, Unigram):  # its pieces may repeat
        known, following = {text: id for id, (text, _) in enumerate(model.pieces)}, len(model.pieces)
    else:
        known, following = model.ids, len(model.ids)
    for at, members in enumerate(node.expect(list)):
        if not _is_added_token(members):
            _check_added_token(JsonNode(members, node.file, f"{node.path}[{at}]"))
        content, special = members["content"], members.get("special", False)
        if not content:
            continue
        id = ids.get(content, known.get(content))
        if id is None:
            id = following
            following += 1
        ids[content] = id
        before = by_id.get(id)
        by_id[id] = AddedToken(
            content,
            id,
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
    id, content = members.get("id"), members.get("content")
    return (
        type(id) is int
        and 0 <= id <= MAX_ID
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
