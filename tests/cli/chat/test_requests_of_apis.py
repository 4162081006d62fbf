"""Requests as each API's documentation has them: every text in them is read, and what is none is named."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tokcli.cli.chat.left_out import MAX_KINDS
from tokcli.cli.chat.openai_rules import Overhead, count_request
from tokcli.cli.chat.read_request import read_request
from tokcli.errors import InputError

SCHEMA = {
    "type": "object",
    "properties": {
        "when": {"type": "object", "description": "Period.", "properties": {"from": {"type": "string", "format": "date"}}},
        "tags": {"type": "array", "items": {"type": "string", "enum": ["red", "green"]}},
        "by": {"anyOf": [{"$ref": "#/$defs/person"}, {"type": "null", "description": "nobody"}]},
    },
    "$defs": {"person": {"type": "object", "properties": {"surname": {"type": "string", "default": "Doe"}}}},
    "required": ["when"],
}  # fmt: skip
DEEP = [
    "when",
    "Period",
    "from",
    "date",
    "tags",
    "red",
    "green",
    "by",
    "#/$defs/person",
    "nobody",
    "person",
    "surname",
    "Doe",
]


def words(text: str) -> int:
    return len(text.split())


def texts_of(request: Any) -> list[str]:
    return [text.text for message in read_request(request).messages for text in message.texts]


def left_out(request: Any) -> dict[str, int]:
    return dict(read_request(request).left_out)


def user(*parts: dict[str, Any], name: str = "content") -> dict[str, Any]:
    return {"role": "user", name: list(parts)}


def test_chat_completions() -> None:
    function = {"name": "get_weather", "arguments": '{"location": "Paris"}'}
    messages = [
        {"role": "developer", "content": "You are helpful."},
        {"role": "user", "name": "Ann", "content": [{"type": "text", "text": "What is this?"},
                                                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}},
                                                    {"type": "input_audio", "input_audio": {"data": "UklGR", "format": "wav"}},
                                                    {"type": "file", "file": {"file_data": "JVBE", "filename": "a.pdf"}}]},
        {"role": "assistant", "content": None, "refusal": "No.", "audio": {"id": "audio_1"}, "annotations": [],
         "tool_calls": [{"id": "c1", "type": "function", "function": function},
                        {"id": "c2", "type": "custom", "custom": {"name": "run", "input": "print(1)"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "sunny"}]},
    ]  # fmt: skip
    request = {"model": "gpt-4o", "temperature": 1, "messages": messages, "metadata": {"a": "b"}, "user": "u"}
    expected = ["You are helpful.", "Ann", "What is this?", "No.", *function.values(), "run", "print(1)", "c1", "sunny"]
    assert texts_of(request) == texts_of(messages) == expected
    assert left_out(request) == {"images": 1, "audio": 2, "files": 1}
    assert left_out({**request, "prediction": {"type": "content", "content": "x"}})["predicted outputs"] == 1


def test_responses() -> None:
    items = [
        user({"type": "input_text", "text": "hello"}, {"type": "input_image", "image_url": "https://x"},
             {"type": "input_file", "file_id": "f"}),
        {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "thinking"}], "encrypted_content": "g"},
        {"type": "function_call", "id": "i", "call_id": "c", "name": "look", "arguments": "{}", "status": "completed"},
        {"type": "function_call_output", "call_id": "c", "output": "found"},
        {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "more"}]},
        {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": "yes", "annotations": []}]},
        {"type": "local_shell_call", "call_id": "s", "action": {"type": "exec", "command": ["ls"]}},
        {"type": "file_search_call", "queries": ["deep"], "results": [{"filename": "a.txt", "text": "It is", "file_id": "f"}]},
        {"type": "mcp_call", "name": "roll", "arguments": "2d4", "output": "5", "server_label": "dice"},
        {"type": "code_interpreter_call", "code": "x", "outputs": [{"type": "logs", "logs": "1"}, {"type": "image", "url": "u"}]},
        {"type": "item_reference", "id": "x"},
    ]  # fmt: skip
    request = {"model": "gpt-5", "instructions": "Be brief.", "input": items, "previous_response_id": "resp_1"}
    assert texts_of(request) == [
        "Be brief.", "hello", "thinking", "look", "{}", "found", "more", "yes", '{"type": "exec", "command": ["ls"]}',
        "deep", "a.txt", "It is", "roll", "2d4", "5", "x", "1",
    ]  # fmt: skip
    assert left_out(request) == {
        "images": 2, "files": 1, "encrypted parts": 1, "references to what the server keeps": 2
    }  # fmt: skip
    assert [message.role for message in read_request(request).messages] == [
        "system", "user", "assistant", "assistant", "tool", "tool", "assistant", "assistant", "assistant", "assistant",
        "assistant", "",
    ]  # fmt: skip
    assert texts_of({"input": "hello"}) == ["hello"]


def test_messages_of_anthropic() -> None:
    png = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBOR"}}
    blocks = [
        {"type": "text", "text": "hello", "cache_control": {"type": "ephemeral"}, "citations": [{"cited_text": "x"}]},
        {"type": "thinking", "thinking": "hm", "signature": "EqQB"},
        {"type": "redacted_thinking", "data": "EmwK"},
        {"type": "tool_use", "id": "t", "name": "find", "input": {"for": "a cat", "most": 3}},
        {"type": "tool_result", "tool_use_id": "t", "content": "found"},
        {
            "type": "tool_result",
            "tool_use_id": "t",
            "is_error": True,
            "content": [{"type": "text", "text": "none"}, png],
        },
        {"type": "document", "title": "Doc", "context": "old", "source": {"type": "text", "data": "The text."}},
        {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "part"}]}},
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBE"}},
        {"type": "search_result", "source": "https://x", "title": "Found", "content": [{"type": "text", "text": "it"}]},
    ]
    request = {"max_tokens": 9, "system": [{"type": "text", "text": "Be kind."}], "messages": [user(*blocks)]}
    expected = ["hello", "hm", "find", '{"for": "a cat", "most": 3}', "found", "none", "Doc", "old", "The text.", "part",
                "https://x", "Found", "it"]  # fmt: skip
    assert texts_of(request) == ["Be kind.", *expected]
    assert texts_of({**request, "system": "Be kind."}) == ["Be kind.", *expected]
    assert left_out(request) == {"citations": 1, "signatures": 1, "encrypted parts": 1, "images": 1, "files": 1}


@pytest.mark.parametrize("snake", [False, True])
def test_gemini(snake: bool) -> None:
    request: Any = {
        "systemInstruction": {"parts": [{"text": "Be a cat."}]},
        "contents": [
            user({"text": "hello"}, {"inlineData": {"mimeType": "image/png", "data": "AA"}},
                 {"fileData": {"mimeType": "video/mp4", "fileUri": "https://x"}}, name="parts"),
            {"role": "model", "parts": [{"functionCall": {"name": "set", "args": {"to": "warm"}}, "thoughtSignature": "s"},
                                        {"executableCode": {"language": "PYTHON", "code": "print(1)"}}]},
            user({"functionResponse": {"name": "set", "response": {"ok": "yes"}}}, name="parts"),
        ],
        "tools": [{"functionDeclarations": [{"name": "set", "description": "Sets.", "parameters": SCHEMA}]}, {"googleSearch": {}}],
        "generationConfig": {"temperature": 0, "responseSchema": SCHEMA},
    }  # fmt: skip
    if snake:
        for name in ("systemInstruction", "inlineData", "mimeType", "fileData", "functionCall", "thoughtSignature",
                     "executableCode", "functionResponse", "functionDeclarations", "generationConfig", "responseSchema"):  # fmt: skip
            written = "".join(f"_{char.lower()}" if char.isupper() else char for char in name)
            request = json.loads(json.dumps(request).replace(f'"{name}"', f'"{written}"'))
    assert texts_of(request) == ["Be a cat.", "hello", "set", '{"to": "warm"}', "print(1)", "set", '{"ok": "yes"}']
    assert left_out(request) == {"images": 1, "videos": 1, "signatures": 1, "built-in tools": 1}
    read = read_request(request)
    assert [tool.name for tool in read.tools] == ["set"]
    assert [one.schemas for one in read.formats] == [(SCHEMA,)]
    assert texts_of({"contents": {"parts": {"text": "hello"}}}) == texts_of({"contents": "hello"}) == ["hello"]


def test_what_is_like_these_apis() -> None:
    bedrock = {
        "modelId": "x", "system": [{"text": "Be kind."}], "inferenceConfig": {"maxTokens": 9},
        "messages": [
            user({"text": "hello"}, {"image": {"format": "png", "source": {"bytes": "AAAA"}}}),
            {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t", "name": "find", "input": {"a": "b"}}}]},
            user({"toolResult": {"toolUseId": "t", "status": "success", "content": [{"json": {"c": "d"}}, {"text": "e"}]}}),
        ],
        "toolConfig": {"tools": [{"toolSpec": {"name": "find", "description": "Finds.", "inputSchema": {"json": SCHEMA}}}]},
    }  # fmt: skip
    assert texts_of(bedrock) == ["Be kind.", "hello", "find", '{"a": "b"}', '{"c": "d"}', "e"]
    assert left_out(bedrock) == {"images": 1}
    assert read_request(bedrock).tools[0].schemas == (SCHEMA,)
    assert {text.tool for text in read_request(bedrock).messages[-1].texts} == {"find"}
    ollama = {"model": "x", "messages": [{"role": "user", "content": "hello", "images": ["AA", "BB"]}], "options": {}}
    assert texts_of(ollama) == ["hello"]
    assert left_out(ollama) == {"images": 2}
    assert texts_of({"conversations": [{"from": "human", "value": "hello"}]}) == ["hello"]


def test_texts_beside_what_is_no_text_are_counted() -> None:
    image = {"type": "image_url", "image_url": {"url": "https://x"}, "text": "a cat"}
    assert texts_of([user(image)]) == ["a cat"]
    assert left_out([user(image)]) == {"images": 1}
    assert texts_of({"input": [{"type": "function_call_output", "call_id": "c", "output": {"found": 3}}]}) == [
        '{"found": 3}'
    ]
    documents = {"messages": [], "documents": [{"title": "Cats", "text": "A cat is ..."}, "A dog is ..."]}
    assert texts_of(documents) == ["Cats", "A cat is ...", "A dog is ..."]
    assert not left_out(documents)


def test_base64_in_an_address_is_no_text() -> None:
    linked = user({"type": "note", "uri": "data:image/png;base64,AAAA"}, {"type": "note", "url": "https://example.org"})
    assert texts_of([linked]) == ["https://example.org"]
    assert left_out([linked]) == {"images": 1}


def tokens(tool: dict[str, Any], **more: Any) -> int:
    return count_request(read_request({"messages": [], "tools": [tool], **more}), Overhead(), words).total


def test_a_tool_takes_the_same_in_every_spelling() -> None:
    names = {"name": "find", "description": "Finds a cat."}
    expected = tokens({"type": "function", "function": {**names, "parameters": SCHEMA}})
    assert tokens({"type": "function", **names, "parameters": SCHEMA, "strict": True}) == expected
    assert tokens({**names, "input_schema": SCHEMA}) == expected
    assert tokens({**names, "inputSchema": SCHEMA, "annotations": {"readOnlyHint": True}}) == expected
    assert tokens({"functionDeclarations": [{**names, "parametersJsonSchema": SCHEMA}]}) == expected


@pytest.mark.parametrize("text", DEEP)
def test_each_text_of_a_nested_schema_is_counted(text: str) -> None:
    """With two more words, it takes two more tokens."""
    longer = json.loads(json.dumps(SCHEMA).replace(f'"{text}', f'"two more {text}', 1))
    assert longer != SCHEMA
    assert tokens({"name": "f", "parameters": longer}) == tokens({"name": "f", "parameters": SCHEMA}) + 2


@pytest.mark.parametrize(
    "asked",
    [
        {"response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA}}},
        {"text": {"format": {"type": "json_schema", "name": "answer", "schema": SCHEMA}}},
        {"output_config": {"format": {"type": "json_schema", "name": "answer", "schema": SCHEMA}}},
    ],
)
def test_the_schema_of_the_answer_is_counted(asked: dict[str, Any]) -> None:
    read = read_request({"messages": [], **asked})
    assert [(one.name, one.schemas) for one in read.formats] == [("answer", (SCHEMA,))]
    assert not read.left_out


def test_lists_of_tools_of_mcp() -> None:
    tool = {
        "name": "get",
        "title": "Weather",
        "description": "Get it",
        "inputSchema": SCHEMA,
        "outputSchema": {"title": "T"},
    }
    listed = {"tools": [tool], "nextCursor": "next"}
    alone = read_request(listed)
    assert alone.tools[0].schemas == (SCHEMA, {"title": "T"})
    assert alone.tools[0].texts == ("Weather",)
    assert not alone.awaits_reply
    assert read_request({"jsonrpc": "2.0", "id": 1, "result": listed}).tools == alone.tools
    assert read_request([tool]).tools == alone.tools


def test_tools_that_the_provider_defines_are_named() -> None:
    tools = [{"type": "web_search_20250305", "name": "web_search", "user_location": {"city": "Paris"}},
             {"type": "mcp", "server_label": "dice", "server_url": "https://x"}, {"codeExecution": {}}]  # fmt: skip
    read = read_request({"messages": [], "tools": tools})
    assert read.left_out == {"built-in tools": 2, "MCP servers": 1}
    assert [tool.name for tool in read.tools] == ["web_search", ""]


def test_requests_in_files_of_batches_and_of_preferences() -> None:
    inner = {"messages": [{"role": "user", "content": "hello"}]}
    assert texts_of({"custom_id": "1", "method": "POST", "url": "/v1", "body": inner}) == ["hello"]
    assert texts_of({"custom_id": "1", "params": inner}) == ["hello"]
    assert texts_of({"key": "1", "request": {"contents": [{"parts": [{"text": "hello"}]}]}}) == ["hello"]
    preferred = [{"role": "assistant", "content": "good"}]
    request = {
        "input": inner,
        "preferred_output": preferred,
        "non_preferred_output": [{"role": "assistant", "content": "bad"}],
    }
    assert texts_of(request) == ["hello", "good", "bad"]


def test_what_no_api_has_is_named_and_never_dropped_silently() -> None:
    unknown = user({"type": "hologram", "voxels": "AAAA"}, {"type": "text", "text": "x", "aside": "y"})
    request = {"messages": [unknown], "userNotes": "to the model?", "tools": ["f"]}
    assert left_out(request) == {
        "parts of type 'hologram'": 1, "members 'aside'": 1, "members 'userNotes'": 1, "unknown tools": 1
    }  # fmt: skip
    assert texts_of(request) == ["x"]
    assert left_out({"messages": [user(*({"type": f"t{number}", "x": "y"} for number in range(999)))]}).values()
    many = left_out({"messages": [], **{f"m{number}": "x" for number in range(999)}})
    assert len(many) <= MAX_KINDS + 1 and sum(many.values()) == 999


def test_results_that_are_numbers_are_texts() -> None:
    assert texts_of([user({"type": "tool_result", "tool_use_id": "1", "content": 12345})]) == ["12345"]
    assert texts_of({"input": [{"type": "function_call_output", "call_id": "1", "output": 1.5}]}) == ["1.5"]


def test_tools_are_told_apart_by_the_ids_of_their_calls() -> None:
    called = [{"type": "tool_use", "id": "1", "name": "a", "input": {"x": "y"}}, {"type": "text", "text": "and"},
              {"type": "tool_use", "id": "2", "name": "b", "input": {"x": "y"}}]  # fmt: skip
    results = [{"type": "tool_result", "tool_use_id": "2", "content": "from b"},
               {"type": "tool_result", "tool_use_id": "3", "content": "lost"}]  # fmt: skip
    read = read_request([{"role": "assistant", "content": called}, user(*results)])
    assert [text.tool for message in read.messages for text in message.texts] == [
        "a", "a", "", "b", "b", "b", "(unknown tool)"
    ]  # fmt: skip


@pytest.mark.parametrize(
    "parsed", [None, 1, "x", {}, {"foo": 1}, {"messages": None}, {"input": 5}, {"contents": 1}, {"error": {"code": 1}},
               {"body": {"body": {"body": {"body": {"messages": []}}}}}, {"contents": [{"parts": ["x"]}]}]
)  # fmt: skip
def test_what_is_no_request_is_refused(parsed: Any) -> None:
    with pytest.raises(InputError):
        read_request(parsed)
