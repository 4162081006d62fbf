"""A request to a chat model as its texts, and a count of it by parts: data that no API and no rule has a say in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

TOOLS, FORMATS = "(tools)", "(output schema)"  # said for the role and the place of a definition, which has none


class ChatText(NamedTuple):
    """A text of a message; of JSON, `inside` are the strings in it.

    `tool` names the tool that the text calls, or whose result it is; "" for any other text.
    """

    text: str
    tool: str = ""
    inside: tuple[str, ...] = ()


class ChatMessage(NamedTuple):
    """A message: its role ("" if it has none), where it stands in the request, its texts beside the role."""

    role: str
    path: str
    texts: tuple[ChatText, ...]
    has_name: bool = False


class ChatTool(NamedTuple):
    """A tool that the model may call: the JSON schemas of what it takes and gives, and its other texts.

    The form that an answer must have is described in the same way.
    """

    name: str
    description: str
    schemas: tuple[Mapping[str, Any], ...]
    texts: tuple[str, ...] = ()


class ChatRequest(NamedTuple):
    """A request: messages, tools, and the schemas that the answer must have; what is left out, by kind.

    `members` is the request as it was parsed, always an object. `awaits_reply` is false for a mere list of tools.
    """

    messages: tuple[ChatMessage, ...]
    tools: tuple[ChatTool, ...]
    formats: tuple[ChatTool, ...]
    left_out: Mapping[str, int]
    members: Mapping[str, Any]
    awaits_reply: bool = True


class Share(NamedTuple):
    """The tokens of one message, or of what one tool has in it; or of the definition of a tool, or of an answer.

    `role` and `path` are those of the message, or say what else it is; `tool` is "" where no tool is meant.
    """

    tokens: int
    role: str
    path: str
    tool: str


class ChatCount(NamedTuple):
    """The tokens of a request: those of its parts, and `overhead` that belongs to none of them."""

    overhead: int
    shares: tuple[Share, ...]

    @property
    def total(self) -> int:
        """The tokens of the whole request."""
        return self.overhead + sum(share.tokens for share in self.shares)


class CountedChat(NamedTuple):
    """A request that was counted: its tokens by parts, and what is left out of them, by kind."""

    counted: ChatCount
    left_out: Mapping[str, int]

    def joined(self, other: CountedChat) -> CountedChat:
        """Return this and another request as one."""
        shares = (*self.counted.shares, *other.counted.shares)
        both = [self.left_out, other.left_out]
        left_out = {kind: sum(one.get(kind, 0) for one in both) for kind in {**both[0], **both[1]}}
        return CountedChat(ChatCount(self.counted.overhead + other.counted.overhead, shares), left_out)
