"""JSON that is sent to a chat model, read as a `ChatRequest`; what it takes in tokens is left to others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tokcli.cli.chat.conversation import ChatMessage, ChatRequest, ChatText, ChatTool
from tokcli.errors import InputError

CALL_MEMBERS = ("name", "arguments")  # of the function in a tool call
PART_MEMBERS = ("text", "refusal")  # of the parts of a content


def read_request(parsed: Any) -> ChatRequest:
    """Return a request from its JSON; InputError for JSON that is none."""
    if isinstance(parsed, list):
        parsed = {"messages": parsed}
    if not isinstance(parsed, dict) or not isinstance(parsed.get("messages"), list):
        raise InputError("--chat reads a JSON list of messages, or an object with messages and tools")
    messages = parsed["messages"]
    left_out = sum(map(is_more_than_text, messages))
    return ChatRequest(
        tuple(read_message(message, number) for number, message in enumerate(messages)),
        tuple(read_tools(parsed)),
        {"part": left_out} if left_out else {},
        parsed,
    )


def read_message(message: Any, number: int) -> ChatMessage:
    """Return a message of a list, the first of which has number 0."""
    if not isinstance(message, dict):
        raise InputError(f"message {number + 1} is not an object")
    if not is_content(message.get("content")):
        raise InputError(f"the content of message {number + 1} is neither a string nor a list of objects")
    texts = tuple(texts_of(message))
    return ChatMessage(text_in(message, "role"), f"messages[{number}]", texts, "name" in message)


def texts_of(message: dict[str, Any]) -> Iterator[ChatText]:
    """Yield the texts of a message: its string members, the texts in the parts of its content, and its tool calls."""
    for name, value in message.items():
        if isinstance(value, str):
            if name != "role":
                yield ChatText(value)
        elif name == "tool_calls":
            for call in objects_in(value):
                yield from members_in(call.get("function"), CALL_MEMBERS)
        elif name == "function_call":
            yield from members_in(value, CALL_MEMBERS)
        else:
            for part in objects_in(value):
                yield from members_in(part, PART_MEMBERS)


def is_content(value: object) -> bool:
    """Return whether a value may be the content of a message: a string, a list of parts, or null beside tool calls.

    >>> is_content("hello"), is_content([{"type": "text", "text": "hello"}]), is_content(None), is_content(["hello"])
    (True, True, True, False)
    """
    return value is None or isinstance(value, str) or (isinstance(value, list) and len(objects_in(value)) == len(value))


def is_more_than_text(message: object) -> bool:
    """Return whether a message has parts other than text."""
    content = message.get("content") if isinstance(message, dict) else None
    return any(not any(members_in(part, PART_MEMBERS)) for part in objects_in(content) if part)


def read_tools(request: dict[str, Any]) -> Iterator[ChatTool]:
    """Yield the tools of a request."""
    tools = [tool.get("function", tool) for tool in objects_in(request.get("tools"))]
    for function in [*objects_in(tools), *objects_in(request.get("functions"))]:
        parameters = function.get("parameters")
        schemas = (parameters,) if isinstance(parameters, dict) else ()
        yield ChatTool(text_in(function, "name"), text_in(function, "description"), schemas)


def text_in(members: dict[str, Any], name: str) -> str:
    """Return the member of this name if it is a string, else ""."""
    value = members.get(name)
    return value if isinstance(value, str) else ""


def members_in(value: object, names: Iterable[str]) -> Iterator[ChatText]:
    """Yield the members with these names that are strings; none if the value is not an object."""
    if isinstance(value, dict):
        yield from (ChatText(value[name]) for name in names if isinstance(value.get(name), str))


def objects_in(value: object) -> list[dict[str, Any]]:
    """Return the objects in a list; an empty list if the value is not a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
