"""How many tokens a request takes with a chat model, as OpenAI's cookbook estimates it.

The rules and their constants are those of "How to count tokens with tiktoken", sections 6 and 7
(github.com/openai/openai-cookbook, examples/How_to_count_tokens_with_tiktoken.ipynb). What is sent to a model is not
public, so every count is an estimate. Requests of other APIs are counted in the same way. A count is never less than
the sum of the counts of the texts, whatever the constants take away and wherever texts are joined.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tokcli.cli.chat.conversation import (
    FORMATS,
    TOOLS,
    ChatCount,
    ChatMessage,
    ChatRequest,
    ChatText,
    ChatTool,
    Share,
)
from tokcli.cli.chat.schema_rules import count_schema, texts_in_schema, without_stop

Count = Callable[[str], int]

REPLY = 3  # tokens with which every reply begins
FUNCTIONS_END = 12  # tokens after the functions among the tools


class Overhead(NamedTuple):
    """Tokens beside the texts: of each message, of a name, and of each function among the tools."""

    message: int = 3
    name: int = 1
    function: int = 7


OLDER_FUNCTION = 10  # tokens: of models with the encoding cl100k_base
BY_MODEL = {"gpt-3.5-turbo-0301": Overhead(message=4, name=-1, function=OLDER_FUNCTION)}


def overhead_of(model: str | None, encoding: str) -> Overhead:
    """Return the overhead of a model: its own constants if it has some, else those of its encoding."""
    return BY_MODEL.get(model or "") or Overhead(function=OLDER_FUNCTION if encoding == "cl100k_base" else 7)


def count_request(request: ChatRequest, overhead: Overhead, count: Count) -> ChatCount:
    """Return the tokens of a request, with those of the beginning of the reply; `count` gives that of a text.

    >>> message = ChatMessage("user", "messages[0]", (ChatText("one two"),))
    >>> count_request(ChatRequest((message,), (), (), {}, {}), Overhead(), lambda text: len(text.split())).total
    9
    """
    shares = [share for message in request.messages for share in _shares_of(message, overhead, count)]
    for place, definitions in ((TOOLS, request.tools), (FORMATS, request.formats)):
        shares += [Share(count_tool(one, overhead, count), place, place, one.name) for one in definitions]
    fixed = (REPLY if request.awaits_reply else 0) + (FUNCTIONS_END if request.tools else 0)
    return ChatCount(fixed, tuple(shares))


def _shares_of(message: ChatMessage, overhead: Overhead, count: Count) -> list[Share]:
    """Return the tokens of a message: of each tool that it calls or whose result it is, and of all the rest."""
    own = overhead.message + count(message.role) + (overhead.name if message.has_name else 0)
    by_tool: dict[str, int] = {}
    for text in message.texts:
        by_tool[text.tool] = by_tool.get(text.tool, 0) + count_text(text, count)
    first = next(iter(by_tool), "") if len(by_tool) == 1 else ""
    by_tool[first] = by_tool.get(first, 0) + own
    return [Share(tokens, message.role, message.path, tool) for tool, tokens in by_tool.items()]


def count_text(text: ChatText, count: Count) -> int:
    """Return the number of tokens of a text; of JSON, at least as many as the strings in it have."""
    return max(count(text.text), sum(map(count, text.inside)))


def count_tool(tool: ChatTool, overhead: Overhead, count: Count) -> int:
    """Return the number of tokens of a tool: its name, description and parameters, and at least those of its texts."""
    tokens = overhead.function + count(f"{tool.name}:{without_stop(tool.description)}") + sum(map(count, tool.texts))
    texts = [tool.name, tool.description, *tool.texts]
    for schema in tool.schemas:
        described = schema.get("description")
        tokens += count_schema(schema, count) + (count(described) if isinstance(described, str) else 0)
        texts += texts_in_schema(schema)
    return max(tokens, sum(map(count, texts)))
