"""A request to a chat model as the conversation that a chat template takes.

Messages, tools and documents are handed on as they are, which is what transformers does. Where Anthropic's API and MCP
say otherwise what transformers knows, too, it is said as transformers has it: a `system` text is a message, tools have
`parameters`, and calls and results of tools are no parts of a content.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tokcli.chat_templates.conversation import Conversation
from tokcli.cli.chat.conversation import ChatRequest
from tokcli.cli.chat.left_out import snake_case
from tokcli.cli.chat.read_request import INSTRUCTIONS, LISTS
from tokcli.errors import InputError

SCHEMAS = ("input_schema", "inputSchema")  # Anthropic's and MCP's names for `parameters`
KWARGS = "chat_template_kwargs"  # of servers such as vLLM's: values for the template
GIVEN = {f"members {KWARGS!r}"}  # as what is left out calls it
FIXED = ("messages", "tools", "documents", "add_generation_prompt")


def conversation_of(chat: ChatRequest, *, add_generation_prompt: bool) -> Conversation:
    """Return the conversation of a request; InputError for one without messages, and for what no template takes."""
    members = chat.members
    messages = members.get("messages")
    if not isinstance(messages, list):
        raise InputError(
            "a chat template takes a list of messages, which this request has not",
            "Give the request as OpenAI's chat API or Anthropic's has it, or count without a template: -e o200k_base.",
        )
    kwargs = members.get(KWARGS) or {}
    if not isinstance(kwargs, dict) or not kwargs.keys().isdisjoint(FIXED):
        raise InputError(f"{KWARGS} is no object, or has one of {', '.join(FIXED)}")
    wants_prompt = members.get("add_generation_prompt", True) is not False
    system = [{"role": "system", "content": _text_of(members[name])} for name in members if _is_system(members, name)]
    functions = [{"type": "function", "function": one} for one in _objects(members.get("functions"), "function") or ()]
    tools = _objects(members.get("tools"), "tool")
    return Conversation(
        [*system, *_messages(messages)],
        tools if tools is None and not functions else [*map(_tool, tools or ()), *functions],
        _objects(members.get("documents"), "document"),
        add_generation_prompt and wants_prompt,
        kwargs,
    )


def left_out_of(chat: ChatRequest) -> dict[str, int]:
    """Return what of a request no template is given, by kind, and how often."""
    kinds = {kind: number for kind, number in chat.left_out.items() if kind not in GIVEN}
    others = [name for name in chat.members if snake_case(name) in LISTS and name not in FIXED and chat.members[name]]
    others += [name for name, value in chat.members.items() if _has_tools_of_bedrock(name, value)]
    kinds |= {f"members {name!r}": 1 for name in others}
    return kinds | ({"schemas of the answer": len(chat.formats)} if chat.formats else {})


def _has_tools_of_bedrock(name: str, value: Any) -> bool:
    return snake_case(name) == "tool_config" and isinstance(value, dict) and bool(value.get("tools"))


def _is_system(members: Mapping[str, Any], name: str) -> bool:
    """Return whether a member is a text that stands before the messages."""
    return bool(snake_case(name) in INSTRUCTIONS and members[name])


def _objects(value: Any, what: str) -> list[dict[str, Any]] | None:
    """Return a list of objects; None where there is none, InputError for what is no such list."""
    if value is None:
        return None
    if not isinstance(value, list):
        raise InputError(f"the {what}s of the request are not a list")
    for number, one in enumerate(value, 1):
        if not isinstance(one, dict):
            raise InputError(f"{what} {number} is not an object")
    return value


def _tool(tool: dict[str, Any]) -> dict[str, Any]:
    """Return a tool as OpenAI's chat API has it.

    >>> _tool({"name": "f", "input_schema": {"type": "object"}})
    {'type': 'function', 'function': {'name': 'f', 'parameters': {'type': 'object'}}}
    """
    schema = next((name for name in SCHEMAS if name in tool), None)
    if schema is None:
        return tool
    described = {name: tool[name] for name in ("name", "description") if name in tool}
    return {"type": "function", "function": described | {"parameters": tool[schema]}}


def _messages(messages: list[Any]) -> Iterator[dict[str, Any]]:
    """Yield messages; those whose content has calls, results or thoughts as parts become messages with members."""
    called: dict[str, Any] = {}  # the name of the tool, by the id of a call
    for message in messages:
        content = message.get("content")
        kinds = set(map(_type_of, content)) if isinstance(content, list) else set()
        if kinds.isdisjoint(("tool_use", "tool_result", "thinking")):
            yield message
            continue
        made: dict[str, Any] = {name: value for name, value in message.items() if name != "content"}
        rest, calls = [], []
        for part in content:
            if _type_of(part) == "tool_use":
                called[str(part.get("id"))] = part.get("name")
                function = {"name": part.get("name"), "arguments": part.get("input") or {}}
                calls.append({"id": part.get("id"), "type": "function", "function": function})
            elif _type_of(part) == "tool_result":
                yield _result(part, called)
            elif _type_of(part) == "thinking":
                made["reasoning_content"] = f"{made.get('reasoning_content') or ''}{part.get('thinking') or ''}"
            else:
                rest.append(part)
        if rest or calls or "reasoning_content" in made:
            yield made | {"content": _text_of(rest)} | ({"tool_calls": calls} if calls else {})


def _type_of(part: object) -> str:
    """Return the type of a part of a content; "" if it has none."""
    kind = part.get("type") if isinstance(part, dict) else None
    return kind if isinstance(kind, str) else ""


def _result(part: Mapping[str, Any], called: Mapping[str, Any]) -> dict[str, Any]:
    """Return the message for the result of a tool."""
    call = part.get("tool_use_id")
    result = {"role": "tool", "tool_call_id": call, "content": _text_of(part.get("content") or "")}
    return result | ({"name": called[str(call)]} if called.get(str(call)) else {})


def _text_of(content: Any) -> Any:
    """Return a list of texts as one text; any other content as it is.

    >>> _text_of([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])
    'a\\nb'
    """
    if isinstance(content, list) and all(_type_of(part) == "text" and "text" in part for part in content):
        return "\n".join(str(part["text"]) for part in content)
    return content
