"""`count --chat`: how many tokens a list of messages takes with a chat model, as OpenAI's cookbook estimates it.

The rules and their constants are those of "How to count tokens with tiktoken", sections 6 and 7
(github.com/openai/openai-cookbook, examples/How_to_count_tokens_with_tiktoken.ipynb). What is sent to a model is not
public, so every count is an estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from tokcli.cli import streams
from tokcli.cli.count.many import ManyCounts, Outcome, row_of
from tokcli.cli.inputs import records
from tokcli.cli.walk.binary_files import is_binary
from tokcli.errors import InputError, TokcliError

Count = Callable[[str], int]

MAX_BYTES = 64 << 20  # of a conversation: it is held as a whole
REPLY = 3  # tokens with which every reply begins
CALL_MEMBERS = ("name", "arguments")  # of the function in a tool call
PART_MEMBERS = ("text", "refusal")  # of the parts of a content
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


class ChatCounts(ManyCounts):
    """The counts of the conversations in the inputs of a request."""

    def outcomes(self, sources: list[streams.Input]) -> list[Outcome]:
        """Return the outcomes of some inputs, in order."""
        return list(map(self._outcome, sources))

    def _outcome(self, source: streams.Input) -> Outcome:
        try:
            data = records.read_all(source, MAX_BYTES, "messages")
            if is_binary(source, data):
                return Outcome(source)
            with streams.naming(source.shown):
                tokens = self._counted_chat(records.read_json(data, source.shown))
        except TokcliError as error:
            return Outcome(source, error=error)
        return Outcome(source, row_of(source, (tokens,), len(data)))

    def _counted_chat(self, chat: Any) -> int:
        """Return the number of tokens of a conversation; InputError for JSON that is not one."""
        request = self.request
        overhead = overhead_of(request.options.model, request.encoding.name)
        count = request.encoding.tokenizer.count
        if isinstance(chat, list):
            chat = {"messages": chat}
        if not isinstance(chat, dict) or not isinstance(chat.get("messages"), list):
            raise InputError("--chat reads a JSON list of messages, or an object with messages and tools")
        if any(is_more_than_text(message) for message in chat["messages"]):
            request.note("--chat counts texts and tools; images, sounds and files among the messages are left out.")
        return count_messages(chat["messages"], overhead, count) + count_tools(chat, overhead, count)


def count_messages(messages: list[Any], overhead: Overhead, count: Count) -> int:
    """Return the number of tokens of messages and of the beginning of the reply; `count` gives that of a text.

    >>> count_messages([{"role": "user", "content": "one two"}], Overhead(), lambda text: len(text.split()))
    9
    """
    tokens = REPLY
    for number, message in enumerate(messages, 1):
        if not isinstance(message, dict):
            raise InputError(f"message {number} is not an object")
        if not is_content(message.get("content")):
            raise InputError(f"the content of message {number} is neither a string nor a list of objects")
        tokens += overhead.message + sum(map(count, texts_of(message)))
        tokens += overhead.name if "name" in message else 0
    return tokens


def texts_of(message: dict[str, Any]) -> Iterator[str]:
    """Yield the texts of a message: its string members, the texts in the parts of its content, and its tool calls."""
    for name, value in message.items():
        if isinstance(value, str):
            yield value
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


def count_tools(chat: dict[str, Any], overhead: Overhead, count: Count) -> int:
    """Return the number of tokens of the functions among the tools: names, descriptions and parameters."""
    tools = [tool.get("function", tool) for tool in objects_in(chat.get("tools"))]
    functions = [*objects_in(tools), *objects_in(chat.get("functions"))]
    tokens = FUNCTIONS_END if functions else 0
    for function in functions:
        tokens += overhead.function + count(f"{text_in(function, 'name')}:{described(function)}")
        parameters = function.get("parameters")
        properties = parameters.get("properties") if isinstance(parameters, dict) else None
        if isinstance(properties, dict) and properties:
            tokens += PROPERTIES + sum(count_property(name, found, count) for name, found in properties.items())
    return tokens


def count_property(name: str, found: object, count: Count) -> int:
    """Return the number of tokens of a parameter: its name, type and description, and the values it may have."""
    members = found if isinstance(found, dict) else {}
    tokens = PROPERTY + count(f"{name}:{text_in(members, 'type')}:{described(members)}")
    values = members.get("enum")
    if isinstance(values, list):
        tokens += ENUM + sum(ENUM_ITEM + count(str(value)) for value in values)
    return tokens


def described(members: dict[str, Any]) -> str:
    """Return the description of a function or parameter, without the full stop at its end."""
    return text_in(members, "description").removesuffix(".")


def text_in(members: dict[str, Any], name: str) -> str:
    """Return the member of this name if it is a string, else ""."""
    value = members.get(name)
    return value if isinstance(value, str) else ""


def members_in(value: object, names: Iterable[str]) -> Iterator[str]:
    """Yield the members with these names that are strings; none if the value is not an object."""
    if isinstance(value, dict):
        yield from (value[name] for name in names if isinstance(value.get(name), str))


def objects_in(value: object) -> list[dict[str, Any]]:
    """Return the objects in a list; an empty list if the value is not a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
