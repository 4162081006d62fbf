"""How many tokens a request takes with a chat model, as OpenAI's cookbook estimates it.

The rules and their constants are those of "How to count tokens with tiktoken", sections 6 and 7
(github.com/openai/openai-cookbook, examples/How_to_count_tokens_with_tiktoken.ipynb). What is sent to a model is not
public, so every count is an estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tokcli.cli.chat.conversation import ChatCount, ChatMessage, ChatRequest, ChatTool, Share

Count = Callable[[str], int]

REPLY = 3  # tokens with which every reply begins
FUNCTIONS_END, PROPERTIES, PROPERTY, ENUM, ENUM_ITEM = 12, 3, 3, -3, 3  # of tools: tokens beside their texts


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

    >>> from tokcli.cli.chat.conversation import ChatText
    >>> message = ChatMessage("user", "messages[0]", (ChatText("one two"),))
    >>> count_request(ChatRequest((message,), (), {}, {}), Overhead(), lambda text: len(text.split())).total
    9
    """
    messages = [Share(count_message(one, overhead, count), one.role, one.path, "") for one in request.messages]
    tools = [Share(count_tool(tool, overhead, count), "", "", tool.name) for tool in request.tools]
    return ChatCount(REPLY + (FUNCTIONS_END if tools else 0), (*messages, *tools))


def count_message(message: ChatMessage, overhead: Overhead, count: Count) -> int:
    """Return the number of tokens of a message."""
    tokens = overhead.message + count(message.role) + sum(count(one.text) for one in message.texts)
    return tokens + (overhead.name if message.has_name else 0)


def count_tool(tool: ChatTool, overhead: Overhead, count: Count) -> int:
    """Return the number of tokens of a tool: its name, description and parameters."""
    tokens = overhead.function + count(f"{tool.name}:{described(tool.description)}")
    for schema in tool.schemas:
        properties = schema.get("properties")
        if isinstance(properties, dict) and properties:
            tokens += PROPERTIES + sum(count_property(name, found, count) for name, found in properties.items())
    return tokens


def count_property(name: str, found: object, count: Count) -> int:
    """Return the number of tokens of a parameter: its name, type and description, and the values it may have."""
    members: Mapping[str, Any] = found if isinstance(found, dict) else {}
    kind, description = (value if isinstance(value := members.get(one), str) else "" for one in ("type", "description"))
    tokens = PROPERTY + count(f"{name}:{kind}:{described(description)}")
    values = members.get("enum")
    if isinstance(values, list):
        tokens += ENUM + sum(ENUM_ITEM + count(str(value)) for value in values)
    return tokens


def described(description: str) -> str:
    """Return the description of a function or parameter, without the full stop at its end."""
    return description.removesuffix(".")
