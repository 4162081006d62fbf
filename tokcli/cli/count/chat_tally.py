"""`count --chat`: what the requests of a run have together: tokens by role, message or tool, and what is left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from tokcli.cli.chat.left_out import LeftOut
from tokcli.render.numbers import grouped

if TYPE_CHECKING:
    from tokcli.cli.chat.conversation import CountedChat, Share
    from tokcli.cli.chat.rules import Rules
    from tokcli.cli.count.count_options import CountRequest

NO_ROLE, NO_TOOL = "(no role)", "(no tool)"
# How parts are told apart, by the value of --by; and the members of JSON that name a part.
KEYS = {"role": ("role",), "message": ("message", "role"), "tool": ("tool",)}


class ChatPart:
    """The tokens of a part, and what names it: an input or "", and the values of the members of KEYS."""

    __slots__ = ("names", "path", "tokens")

    def __init__(self, tokens: int, path: str, names: tuple[str, ...]) -> None:
        self.tokens, self.path, self.names = tokens, path, names


class ChatTally:
    """Adds up counted requests: `overhead` is of the tokens that belong to no part, `left_out` is by kind."""

    def __init__(self, request: CountRequest, rules: Rules) -> None:
        self._request, self._rules = request, rules
        self._by = request.options.by if request.options.by in KEYS else None
        self._parts: dict[tuple[str, ...], int] = {}
        self.overhead = 0
        self.left_out = LeftOut()
        self._is_empty = True

    def add(self, chat: CountedChat, path: str) -> None:
        """Add a request, which was read from the input `path`."""
        self._is_empty = False
        self.left_out.add_all(chat.left_out)
        if self._by is None:
            return
        self.overhead += chat.counted.overhead
        for share in chat.counted.shares:
            key = (path if self._by == "message" else "", *_names_of(self._by, share))
            self._parts[key] = self._parts.get(key, 0) + share.tokens

    def parts(self) -> list[ChatPart]:
        """Return the parts, in the order of --sort, or in which they first occurred; with --top, the largest."""
        asked = self._request.options
        parts = [ChatPart(tokens, path, tuple(names)) for (path, *names), tokens in self._parts.items()]
        if asked.top is not None or asked.order == "tokens":
            parts = sorted(parts, key=lambda part: -part.tokens)[: asked.top]
        return sorted(parts, key=lambda part: (part.path, part.names)) if asked.order == "name" else parts

    @property
    def number_of_parts(self) -> int:
        """The number of all parts, also of those that --top leaves out."""
        return len(self._parts)

    def marks(self, left_out: Mapping[str, int] | None = None) -> dict[str, object]:
        """Return the JSON members that say how far the count is to be trusted, of all requests or of one of them."""
        found = self.left_out.kinds if left_out is None else left_out
        return {"exact": self._rules.is_exact and not found, **({"left_out": dict(found)} if found else {})}

    def note(self) -> None:
        """Print what JSON would say: that counts are estimates; and in any case what is left out."""
        asked = self._request.options
        if not (self._is_empty or self._rules.is_exact or asked.as_json or asked.jsonl):
            self._request.note("this is an estimate: how a request reaches a model is not public.")
        if self.left_out.kinds:
            kinds = ", ".join(f"{kind} ({grouped(number)})" for kind, number in self.left_out.kinds.items())
            self._request.note(f"not counted: {kinds}.")


def _names_of(by: str, share: Share) -> Iterator[str]:
    if by == "message":
        yield share.path
    yield (share.tool or NO_TOOL) if by == "tool" else share.role or NO_ROLE
