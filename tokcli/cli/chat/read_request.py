"""JSON that is sent to a chat model, read as a `ChatRequest`, whichever API it is for.

Those are OpenAI's Chat Completions and Responses, Anthropic's Messages, Gemini's generateContent, MCP's lists of tools,
and what is alike: Amazon Bedrock's Converse, Ollama's chats, ShareGPT's files. What a request takes in
tokens is left to others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tokcli.cli.chat.conversation import ChatMessage, ChatRequest
from tokcli.cli.chat.left_out import MCP_SERVERS, REFERENCES, LeftOut, has_text, snake_case
from tokcli.cli.chat.read_content import ContentReader
from tokcli.cli.chat.read_tools import is_tool, read_formats, read_tools
from tokcli.errors import InputError

# Members with a text, or parts, that stand for a message by themselves, before all others.
INSTRUCTIONS = ("system", "system_instruction", "system_prompt", "instructions")
LISTS = ("documents", "messages", "contents", "input", "conversations", "preferred_output", "non_preferred_output")
TOOLS = ("tools", "functions")
# Objects around a request: of JSON-RPC, and of the files of batches.
WRAPPERS = ("result", "body", "params", "request", "generate_content_request")
MAX_WRAPPERS = 3
# What a request only refers to.
LEFT_OUT = {
    "previous_response_id": REFERENCES, "conversation": REFERENCES, "prompt": REFERENCES, "cached_content": REFERENCES,
    "mcp_servers": MCP_SERVERS, "prediction": "predicted outputs",
}  # fmt: skip
# Members that say how a model answers, or what a program does with the request: no part of what the model reads.
SETTINGS = {
    "model", "models", "temperature", "top_p", "top_k", "min_p", "n", "seed", "stop", "stop_sequences", "max_tokens",
    "max_completion_tokens", "max_output_tokens", "max_tool_calls", "presence_penalty", "frequency_penalty",
    "repetition_penalty", "logit_bias", "logprobs", "top_logprobs", "stream", "stream_options", "user", "user_id",
    "service_tier", "store", "metadata", "modalities", "audio", "parallel_tool_calls", "tool_choice", "function_call",
    "reasoning", "reasoning_effort", "verbosity", "response_format", "text", "format", "output_config",
    "output_format", "web_search_options", "prompt_cache_key", "prompt_cache_retention", "cache_control",
    "safety_identifier", "truncation", "include", "include_context", "background", "thinking", "container", "betas",
    "anthropic_version", "anthropic_beta", "context_management", "inference_geo", "speed", "generation_config",
    "safety_settings", "tool_config", "labels", "provider", "transforms", "plugins", "route", "options", "keep_alive",
    "think", "raw", "timeout", "extra_headers", "inference_config", "model_preferences", "weight", "id", "object",
    "type", "model_id", "jsonrpc", "method", "url", "custom_id", "key", "next_cursor", "_meta",
}  # fmt: skip
KNOWN = {*INSTRUCTIONS, *LISTS, *TOOLS, *SETTINGS}

WHAT_IS_READ = "--chat reads a JSON list of messages, or an object as OpenAI, Anthropic, Gemini and MCP define it."

# The roles of items without one, by how their type begins or ends.
ASSISTANT, TOOL, USER, SYSTEM = "assistant", "tool", "user", "system"
ITEM_ROLES = (("reasoning", ASSISTANT), ("_call", ASSISTANT), ("_output", TOOL), ("_list_tools", SYSTEM),
              ("_response", USER), ("_request", ASSISTANT))  # fmt: skip
ROLES = ("role", "from")
DEFAULT_ROLES = {"contents": USER, "documents": "document"}  # of what is in these lists, which may be mere texts, too


def read_request(parsed: Any) -> ChatRequest:
    """Return a request from its JSON; InputError for JSON that is none."""
    if isinstance(parsed, list):
        parsed = {"tools" if parsed and all(map(is_tool, parsed)) else "messages": parsed}
    request = _unwrapped(parsed)
    members = _in_snake_case(request)
    if isinstance(members.get("input"), dict):  # in a file that teaches preferences
        members |= _in_snake_case(members.pop("input"))
    if isinstance(config := members.get("tool_config"), dict) and "tools" in config:  # Amazon Bedrock's
        members["tools"] = config["tools"]
    left_out = LeftOut()
    content = ContentReader(left_out)
    messages = [*_instructions(members, content), *_listed(members, content)]
    tools = [tool for name in TOOLS if name in members for tool in read_tools(members[name], left_out)]
    formats = tuple(read_formats(members, left_out))
    names = {snake_case(name): name for name in request}
    for name, value in members.items():
        if name in LEFT_OUT and not (name == "prompt" and isinstance(value, str)):
            left_out.add(LEFT_OUT[name], len(value) if isinstance(value, list) else 1 if has_text(value) else 0)
        elif name not in KNOWN and has_text(value):
            left_out.add_unknown("members", names.get(name, name))
    awaits_reply = any(name in members for name in (*INSTRUCTIONS, *LISTS))
    return ChatRequest(tuple(messages), tuple(tools), formats, left_out.kinds, request, awaits_reply)


def _in_snake_case(members: Mapping[str, Any]) -> dict[str, Any]:
    return {snake_case(name): value for name, value in members.items()}


def _unwrapped(parsed: Any) -> dict[str, Any]:
    """Return the object that has messages or tools, out of those around it."""
    for _ in range(MAX_WRAPPERS):
        if not isinstance(parsed, dict):
            break
        members = _in_snake_case(parsed)
        if not members.keys().isdisjoint((*LISTS, *INSTRUCTIONS, *TOOLS)):
            return parsed
        parsed = next((members[name] for name in WRAPPERS if isinstance(members.get(name), dict)), None)
    raise _no_request("it has neither messages, input, contents nor tools")


def _no_request(why: str) -> InputError:
    return InputError(f"not a request to a chat model: {why}", WHAT_IS_READ)


def _instructions(members: Mapping[str, Any], content: ContentReader) -> Iterator[ChatMessage]:
    """Yield a message for each text that stands before the messages of a request."""
    for name in INSTRUCTIONS:
        if members.get(name):
            yield ChatMessage(SYSTEM, name, tuple(content.texts_of(members[name])))


def _listed(members: Mapping[str, Any], content: ContentReader) -> Iterator[ChatMessage]:
    """Yield the messages in the lists of a request; a text alone is a message of the user."""
    for name in LISTS:
        if name not in members:
            continue
        value = members[name]
        if isinstance(value, str) and name != "messages":
            yield ChatMessage(USER, name, tuple(content.texts_of(value)))
        elif isinstance(value, list):
            yield from (_message(one, number, name, content) for number, one in enumerate(value))
        elif isinstance(value, dict) and name == "contents":
            yield _message(value, 0, name, content)
        elif value is not None or name == "messages":
            raise _no_request(f"{name!r} is not a list")


def _message(message: Any, number: int, name: str, content: ContentReader) -> ChatMessage:
    """Return a message of a list, the first of which has number 0; InputError for what is none."""
    called = f"message {number + 1}" if name == "messages" else f"item {number + 1} of {name!r}"
    if isinstance(message, str) and name in DEFAULT_ROLES:
        message = {"parts": [{"text": message}]}
    if not isinstance(message, dict):
        raise InputError(f"{called} is not an object")
    if not is_content(message.get("content")):
        raise InputError(f"the content of {called} is neither a string nor a list of objects")
    if not is_content(parts := message.get("parts")) and not isinstance(parts, dict):
        raise InputError(f"the parts of {called} are no list of objects")
    texts = tuple(content.texts_of_message(message))
    role = _role_of(message) or DEFAULT_ROLES.get(name, "")
    return ChatMessage(role, f"{name}[{number}]", texts, "name" in message and "type" not in message)


def is_content(value: object) -> bool:
    """Return whether a value may be the content of a message: a string, a list of parts, or null beside tool calls.

    >>> is_content("hello"), is_content([{"type": "text", "text": "hello"}]), is_content(None), is_content(["hello"])
    (True, True, True, False)
    """
    is_list = isinstance(value, list) and all(isinstance(one, dict) for one in value)
    return value is None or isinstance(value, str) or is_list


def _role_of(message: Mapping[str, Any]) -> str:
    """Return the role of a message; of an item without one, that of who makes such an item."""
    role = next((value for name in ROLES if isinstance(value := message.get(name), str)), None)
    if role is not None:
        return role
    kind = message.get("type")
    kind = kind if isinstance(kind, str) else ""
    return next((role for end, role in ITEM_ROLES if kind.endswith(end)), "")
