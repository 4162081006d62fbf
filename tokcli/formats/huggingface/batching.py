"""Truncation, padding and dropout of a tokenizer.json: checked as the library does, told in notes, and not applied."""

from __future__ import annotations

from tokcli.engine.base.arguments import MAX_ID
from tokcli.formats.strict_json import JsonNode

_SIZES = 0, (1 << 64) - 1


def batching_notes(top: JsonNode) -> list[str]:
    """Return what a file says about truncation and padding, as sentences, each to be put after the file's name.

    VocabularyError unless the library reads both.
    """
    return [*_truncation(top), *_padding(top)]


def dropout_notes(model: JsonNode) -> list[str]:
    """Return what a model that was read says about dropout, as `batching_notes` does."""
    dropout = model.value.get("dropout")
    return [f"has a dropout of {dropout:g}, which only encode --dropout {dropout:g} applies."] if dropout else []


def _truncation(top: JsonNode) -> list[str]:
    if not top.has("truncation"):
        return []
    node = top.member("truncation")
    at_end = node.member("direction").choice({"Left": False, "Right": True}, "Right")
    size = node.member("max_length").whole(*_SIZES)
    other = node.member("strategy").choice({"LongestFirst": "", "OnlyFirst": "first", "OnlySecond": "second"})
    node.member("stride").whole(*_SIZES)
    option = f"-n {size} --add-special-tokens" + ("" if at_end else " --keep last")
    pairs = f", but pairs lose tokens of the longer text, not of the {other}" if other else ""
    return [f"has a truncation to {size} tokens, which is not applied; encode {option} truncates so{pairs}."]


def _padding(top: JsonNode) -> list[str]:
    if not top.has("padding"):
        return []
    node = top.member("padding")
    strategy, size = node.member("strategy"), None
    if isinstance(strategy.value, dict) and len(strategy.value) == 1:
        size = strategy.member("Fixed").whole(*_SIZES)
    else:
        strategy.choice(dict.fromkeys(("BatchLongest",)))
    node.member("direction").choice(dict.fromkeys(("Left", "Right")))
    node.nullable("pad_to_multiple_of").whole(*_SIZES, default=0)
    for name in ("pad_id", "pad_type_id"):
        node.member(name).whole(0, MAX_ID)
    node.member("pad_token").text()
    to = "the longest text of a batch" if size is None else f"{size} tokens"
    return [f"has a padding to {to}, which is not applied; ids are never padded."]
