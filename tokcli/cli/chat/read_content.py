"""The texts of messages: of their parts, tool calls and tool results, in the spellings of all APIs.

A member's name decides, whichever API it is of: what is text, what has texts in it, what is no text. What none of the
tables below knows is left out, and named.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tokcli.cli.chat.conversation import ChatText
from tokcli.cli.chat.left_out import (
    AUDIO,
    CITATIONS,
    ENCRYPTED,
    FILES,
    IMAGES,
    REFERENCES,
    SIGNATURES,
    VIDEOS,
    LeftOut,
    has_text,
    snake_case,
    strings_in,
)

UNKNOWN_TOOL = "(unknown tool)"  # of a result whose call is not in the request

# Parts and items that are no text as a whole, by their type.
LEFT_OUT_TYPES = {
    "image": IMAGES, "image_url": IMAGES, "input_image": IMAGES, "image_file": IMAGES, "computer_screenshot": IMAGES,
    "image_generation_call": IMAGES,
    "audio": AUDIO, "input_audio": AUDIO, "audio_url": AUDIO,
    "video": VIDEOS, "video_url": VIDEOS, "input_video": VIDEOS,
    "file": FILES, "input_file": FILES, "container_upload": FILES,
    "redacted_thinking": ENCRYPTED, "compaction": ENCRYPTED,
    "item_reference": REFERENCES,
}  # fmt: skip
# Members that are no text, by name; a list counts as many as it has.
LEFT_OUT_MEMBERS = {
    "image_url": IMAGES, "images": IMAGES, "image": IMAGES, "icons": IMAGES,
    "input_audio": AUDIO, "audio": AUDIO,
    "video": VIDEOS, "video_url": VIDEOS,
    "file": FILES, "file_data": FILES, "file_url": FILES, "blob": FILES, "document": FILES,
    "encrypted_content": ENCRYPTED, "data": ENCRYPTED,
    "signature": SIGNATURES, "thought_signature": SIGNATURES,
    "citations": CITATIONS, "annotations": CITATIONS,
}  # fmt: skip
MEDIA = ("inline_data", "file_data")  # Gemini's: objects with a media type
# Members that say something about a part and are no part of what the model reads.
FACTS = {
    "type", "id", "call_id", "tool_use_id", "approval_request_id", "response_id", "container_id", "file_id",
    "cache_control", "status", "index", "role", "from", "detail", "language", "outcome", "is_error", "error_code",
    "mime_type", "media_type", "phase", "logprobs", "video_metadata", "media_resolution", "stop_reason",
    "stop_sequence", "model", "usage", "created_at", "page_age", "retrieved_at", "server_label", "server_name", "_meta",
    "meta", "environment", "caller",
}  # fmt: skip
TEXTS = {
    "text", "refusal", "thinking", "reasoning", "reasoning_content", "name", "title", "context", "description", "value",
    "code", "logs", "stdout", "stderr", "query", "queries", "url", "uri", "filename", "revised_prompt", "reason",
    "error", "tool_name", "command", "commands",
}  # fmt: skip
LINKS = ("url", "uri")  # texts, unless they hold the data themselves
NESTED = {
    "content", "parts", "output", "outputs", "summary", "results", "function", "custom", "tool_calls", "function_call",
    "function_response", "executable_code", "code_execution_result", "resource", "reasoning_details", "tool_use",
    "tool_result",
}  # fmt: skip
# Objects that the model reads as JSON. (Arguments that are a string already are that text.)
JSON_VALUES = {
    "input", "arguments", "args", "response", "action", "operation", "structured_content", "tools", "result", "json",
}  # fmt: skip
CALL_VALUES = {"input", "arguments", "args", "response"}  # what makes a part with a name a call, or its result
CALL = "_call"  # at the end of the type of an item that calls a tool without a name
CALL_IDS = ("call_id", "id", "tool_use_id")
RESULT_IDS = ("tool_call_id", "tool_use_id", "call_id")


class ContentReader:
    """Reads the texts of messages, one after the other; keeps what is left out, and which tool each call has called."""

    def __init__(self, left_out: LeftOut) -> None:
        self.left_out = left_out
        self._called: dict[str, str] = {}  # the name of the tool, by the id of a call

    def texts_of_message(self, message: Mapping[str, Any]) -> Iterator[ChatText]:
        """Yield the texts of a message or an item beside its role. Each string is one, unless it is a known fact."""
        return self._part(message, self._tool_of(message), is_message=True)

    def texts_of(self, value: Any, tool: str = "") -> Iterator[ChatText]:
        """Yield the texts of a content: a string, a number, a part, or a list of these."""
        if isinstance(value, str):
            yield ChatText(value, tool)
        elif isinstance(value, list):
            for one in value:
                yield from self.texts_of(one, tool)
        elif isinstance(value, dict):
            yield from self._part(value, self._tool_of(value) or tool)
        elif value is not None:  # a number, such as the result of a tool
            yield as_text(value, tool)

    def _part(self, part: Mapping[str, Any], tool: str, *, is_message: bool = False) -> Iterator[ChatText]:
        kind = part.get("type")
        if isinstance(kind, str) and kind in LEFT_OUT_TYPES:
            self.left_out.add(LEFT_OUT_TYPES[kind])
            yield from self.texts_of(part.get("text"), tool)
            return
        unknown, is_known = [], is_message
        for given, value in part.items():
            name = snake_case(given)
            if name in FACTS or not value:
                continue
            if name == "source":
                yield from self._source(value, part, tool)
            elif name in MEDIA and isinstance(value, dict):
                self.left_out.add_media(next((v for n, v in value.items() if snake_case(n) == "mime_type"), None))
            elif name in LINKS and isinstance(value, str) and value.startswith("data:"):
                self.left_out.add_media(value[len("data:") :])
            elif name in JSON_VALUES or (name == "output" and isinstance(value, dict) and "type" not in value):
                yield as_text(value, tool)
            elif name in NESTED or name in TEXTS:
                yield from self.texts_of(value, tool)
            elif name in LEFT_OUT_MEMBERS and not (name == "data" and isinstance(value, dict)):
                if has_text(value):
                    self.left_out.add(LEFT_OUT_MEMBERS[name], len(value) if isinstance(value, list) else 1)
            elif is_message and isinstance(value, str):
                yield ChatText(value, tool)
            else:
                unknown += [given] if has_text(value) else []
                continue
            is_known = True
        for given in unknown if is_known else ():
            self.left_out.add_unknown("members", given)
        if unknown and not is_known:
            self.left_out.add_unknown("parts of type", kind if isinstance(kind, str) else unknown[0])

    def _source(self, source: Any, part: Mapping[str, Any], tool: str) -> Iterator[ChatText]:
        """Yield the text of a document's source, which may be text, parts, or a file in base64 or elsewhere."""
        if not isinstance(source, dict):
            yield from self.texts_of(source, tool)
        elif source.get("type") == "text":
            yield from self.texts_of(source.get("data"), tool)
        elif source.get("type") == "content":
            yield from self.texts_of(source.get("content"), tool)
        else:
            is_image = part.get("type") == "image"
            self.left_out.add_media(source.get("media_type"), IMAGES if is_image else FILES)

    def _tool_of(self, part: Mapping[str, Any]) -> str:
        """Return the name of the tool that a part calls, or whose result it is; "" if it is neither."""
        members = {snake_case(name): value for name, value in part.items()}
        kind, name = members.get("type"), members.get("name")
        if isinstance(name, str) and (CALL_VALUES & members.keys() or members.get("role") == "function"):
            return self._remember(members, name)
        for inner in ("function", "custom"):
            found = members.get(inner)
            if isinstance(found, dict) and isinstance(found.get("name"), str):
                return self._remember(members, found["name"])
        if isinstance(kind, str) and kind.endswith(CALL):  # such as local_shell_call
            return self._remember(members, kind.removesuffix(CALL))
        ids = [value for one in RESULT_IDS if isinstance(value := members.get(one), str)]
        return self._called.get(ids[0], UNKNOWN_TOOL) if ids else ""

    def _remember(self, call: Mapping[str, Any], tool: str) -> str:
        self._called.update((value, tool) for one in CALL_IDS if isinstance(value := call.get(one), str))
        return tool


def as_text(value: Any, tool: str = "") -> ChatText:
    """Return a JSON value as the text that a model reads; a string is that text."""
    if isinstance(value, str):
        return ChatText(value, tool)
    return ChatText(json.dumps(value, ensure_ascii=False), tool, tuple(strings_in(value)))
