"""What the readers of a tokenizer.json's parts share: choosing by type, patterns, and when a space is put first."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tokcli.engine import matching
from tokcli.errors import PatternError
from tokcli.formats.json_node import Node
from tokcli.formats.limits import MAX_DEPTH

if TYPE_CHECKING:
    from tokcli.engine.splitters import PrependScheme

MAX_PATTERN_CHARS = 1 << 16  # the longest in use (DeepSeek's letters by name) has some 2,000


def part(node: Node, kinds: dict[str, Callable[[Node, int], Any]], depth: int) -> Any:
    """What the reader for the type of an object makes of it."""
    if depth > MAX_DEPTH:
        node.fail("nested too deep")
    return node.member("type").choice(kinds)(node, depth + 1)


def finder(node: Node) -> tuple[matching.Finder, str | None]:
    """What {"String": ...} or {"Regex": ...} finds, and the text if it is always the same."""
    if node.has("String"):
        text = node.member("String").text()
        if not text:
            node.fail("an empty text is found everywhere")
        return matching.Literal(text), text
    pattern = node.member("Regex").text()
    if len(pattern) > MAX_PATTERN_CHARS:
        node.fail(f"a pattern of {len(pattern)} characters; at most {MAX_PATTERN_CHARS} are read")
    try:
        return matching.OnigPattern(pattern), None
    except PatternError as error:
        node.fail(str(error))


def scheme(node: Node) -> PrependScheme:
    """When Metaspace puts a space first."""
    if node.has("add_prefix_space") and not node.member("add_prefix_space").flag():
        return "never"
    found: PrependScheme = node.member("prepend_scheme").choice(
        {name: name for name in ("always", "first", "never")}, "always"
    )
    return found
