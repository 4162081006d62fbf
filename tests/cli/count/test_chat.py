"""`count --chat`: what requests to chat models take, in every form of output, and what is said of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support import failed, noted, ok, refused, run_tokcli

# The conversations of OpenAI's cookbook, "How to count tokens with tiktoken", and the counts that its API gave for them
JARGON = [
    {"role": "system",
     "content": "You are a helpful, pattern-following assistant that translates corporate jargon into plain English."},
    {"role": "system", "name": "example_user", "content": "New synergies will help drive top-line growth."},
    {"role": "system", "name": "example_assistant",
     "content": "Things working well together will increase revenue."},
    {"role": "system", "name": "example_user",
     "content": "Let's circle back when we have more bandwidth to touch base on opportunities for increased leverage."},
    {"role": "system", "name": "example_assistant",
     "content": "Let's talk later when we're less busy about how to do better."},
    {"role": "user",
     "content": "This late pivot means we don't have time to boil the ocean for the client deliverable."},
]  # fmt: skip
WEATHER: dict[str, Any] = {
    "messages": [
        {"role": "system",
         "content": "You are a helpful assistant that can answer to questions about the weather."},
        {"role": "user", "content": "What's the weather like in San Francisco?"},
    ],
    "tools": [
        {"type": "function",
         "function": {
             "name": "get_current_weather",
             "description": "Get the current weather in a given location",
             "parameters": {
                 "type": "object",
                 "properties": {
                     "location": {"type": "string", "description": "The city and state, e.g. San Francisco, CA"},
                     "unit": {"type": "string", "description": "The unit of temperature to return",
                              "enum": ["celsius", "fahrenheit"]},
                 },
                 "required": ["location"],
             },
         }},
    ],
}  # fmt: skip


def chat(messages: object, *arguments: str) -> int:
    return int(ok("count", "-q", "--chat", *arguments, data=json.dumps(messages).encode()))


@pytest.mark.parametrize(
    ("model", "tokens"), [("gpt-3.5-turbo", 129), ("gpt-4", 129), ("gpt-3.5-turbo-0301", 127), ("gpt-4o", 124)]
)
def test_messages_take_what_the_cookbook_counted(model: str, tokens: int) -> None:
    assert chat(JARGON, "-m", model) == chat({"messages": JARGON}, "-m", model) == tokens


@pytest.mark.parametrize(("model", "tokens"), [("gpt-3.5-turbo", 105), ("gpt-4", 105), ("gpt-4o", 101)])
def test_tools_take_what_the_cookbook_counted(model: str, tokens: int) -> None:
    assert chat(WEATHER, "-m", model) == tokens


def test_parts_names_and_calls_of_tools_are_counted() -> None:
    plain = chat([{"role": "user", "content": "hello world"}])
    parts = [{"type": "text", "text": "hello"}, {"type": "text", "text": " world"}]
    assert chat([{"role": "user", "content": parts}]) == plain == 3 + 1 + 2 + 3
    assert chat([{"role": "user", "content": "hello world", "name": "x"}]) == plain + 2
    call = {"id": "1", "type": "function", "function": {"name": "hello", "arguments": " world"}}
    assert chat([{"role": "assistant", "content": None, "tool_calls": [call]}]) == plain
    assert chat([]) == 3
    assert chat([{"role": "user", "content": "<|endoftext|>"}]) == 3 + 1 + 7 + 3


def test_what_is_no_text_is_left_out_and_named() -> None:
    image = {"type": "image_url", "image_url": {"url": "https://example.org/cat.png"}}
    data = json.dumps([{"role": "user", "content": [image, image, {"type": "hologram", "cells": "AAAA"}]}]).encode()
    ran = noted("count", "--chat", data=data)
    assert ran.out == b"7\n"
    assert "Note: not counted: images (2), parts of type 'hologram' (1).\n" in ran.err
    made = json.loads(noted("count", "--chat", "--json", data=data).out)
    left_out = {"images": 2, "parts of type 'hologram'": 1}
    row = {"tokens": 7, "bytes": len(data), "path": "-", "left_out": left_out}
    assert made == {"files": [row], "total": 7, "count": 7, "exact": False, "left_out": left_out}


def test_a_request_of_each_api_takes_its_texts_and_what_is_around_them() -> None:
    plain = {"messages": [{"role": "user", "content": "hi"}]}
    assert chat(plain) == 8
    assert chat({"input": "hi"}) == chat({"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}) == 8
    system = "Answer in one short sentence, always in French."
    expected = 8 + 3 + 1 + int(ok("count", "-t", system))
    assert chat({**plain, "system": system}) == chat({"input": "hi", "instructions": system}) == expected
    function = WEATHER["tools"][0]["function"]
    named = {"name": function["name"], "description": function["description"]}
    for schema in ("parameters", "input_schema", "inputSchema"):
        assert chat({**WEATHER, "tools": [{**named, schema: function["parameters"]}]}) == 101


def test_an_estimate_says_so_and_can_be_refused() -> None:
    data = json.dumps(JARGON).encode()
    assert "estimate" in noted("count", "--chat", data=data).err
    assert "estimate" in noted("count", "--chat", "--records", "jsonl", data=data).err
    made = json.loads(ok("count", "--chat", "--json", data=data))
    assert (made["count"], made["exact"]) == (124, False)
    assert "estimate" in refused("count", "--chat", "--exact-only", data=data)
    assert ok("count", "--exact-only", "-t", "hello world") == b"2\n"
    assert "exact" not in json.loads(ok("count", "--exact-only", "--json", "-t", "hello world"))


@pytest.mark.parametrize(
    "data", [b"", b"1", b"{}", b'{"messages": 1}', b"[1]", b'["x"]', b"[{", b"\xff", b"[" * 100_000, b"[1e999999]"]
)
def test_what_is_no_conversation_is_refused(data: bytes) -> None:
    refused("count", "--chat", data=data)


@pytest.mark.parametrize("content", [5, True, {"type": "text", "text": "hello"}, ["hello"], [{"text": "x"}, None]])
def test_content_that_would_not_be_counted_is_refused(content: object) -> None:
    messages = [{"role": "user", "content": "hello"}, {"role": "user", "content": content}]
    said = refused("count", "--chat", data=json.dumps(messages).encode())
    assert said == "Error: standard input: the content of message 2 is neither a string nor a list of objects\n"


@pytest.mark.parametrize("odd", [{"tools": 1}, {"tools": [1, {"function": 1}, {}]}, {"functions": [{"parameters": 3}]},
                                 {"tools": [{"function": {"parameters": {"properties": {"a": 1}}}}]}])  # fmt: skip
def test_odd_tools_are_counted_without_a_crash(odd: dict[str, object]) -> None:
    assert chat({"messages": [], **odd}) >= 3


def test_several_conversations_have_a_line_each(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text(json.dumps(JARGON))
    assert ok("count", "-q", "--chat", "a", "b", cwd=tmp_path) == b"124 a\n124 b\n248 total\n"
    made = json.loads(ok("count", "--chat", "--json", "a", "b", cwd=tmp_path))
    assert (made["total"], made["exact"]) == (248, False)


def test_conversations_in_folders_are_grouped_and_drawn_as_other_inputs_are(tmp_path: Path) -> None:
    (tmp_path / "c" / "d").mkdir(parents=True)
    for name in ("c/a", "c/d/b"):
        (tmp_path / name).write_text(json.dumps(JARGON))
    (tmp_path / "c" / "picture").write_bytes(b"\x89PNG\0")
    assert ok("count", "-q", "--chat", "-r", "c", "--by", "root", cwd=tmp_path) == b"248 c\n248 total\n"
    tree = ok("count", "-q", "--chat", "-r", "c", "--tree", cwd=tmp_path).decode()
    assert [line.split()[-1] for line in tree.splitlines()] == ["c", "a", "d/", "b"]


def test_what_is_no_conversation_among_others_is_reported_and_the_others_are_counted(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(json.dumps(JARGON))
    (tmp_path / "b").write_text("{")
    ran = run_tokcli("count", "-q", "--chat", "b", "a", cwd=tmp_path)
    assert (ran.status, ran.out) == (2, b"124 a\n124 total\n")
    assert ran.err.startswith("Error: b: not JSON")
    assert run_tokcli("count", "--chat", "b", cwd=tmp_path).out == b""


def test_a_request_nested_too_deep_is_refused() -> None:
    for opening, closing in (('{"x":', "}"), ("[", "]")):
        deep = opening * 900 + "1" + closing * 900
        ran = run_tokcli(
            "count", "--chat", "-q", data=b'{"messages": [], "tools": [{"parameters": %b}]}' % deep.encode()
        )
        assert ran.status in (0, 2) and "internal" not in ran.err
    schema = '{"items":' * 700 + "{}" + "}" * 700
    data = b'{"messages": [], "tools": [{"name": "f", "parameters": %b}]}' % schema.encode()
    ran = run_tokcli("count", "--chat", "-q", data=data)
    assert ran.status == 0 or "nested too deep" in ran.err


# --- records -------------------------------------------------------------------------------------------------------------

LINES = b"".join(json.dumps(one).encode() + b"\n" for one in (JARGON, WEATHER, {"messages": []})) + b"\n"
PICTURE = b'{"messages": [{"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "x"}}]}]}\n'
RECORDS = ("count", "-q", "--chat", "--records", "jsonl")


def test_each_line_of_a_file_for_fine_tuning_is_a_request() -> None:
    assert ok(*RECORDS, data=LINES) == b"124\n101\n3\n"
    made = [json.loads(line) for line in ok(*RECORDS, "--json", data=LINES + PICTURE).splitlines()]
    assert made[:3] == [{"count": number, "exact": False} for number in (124, 101, 3)]
    assert made[3] == {"count": 7, "exact": False, "left_out": {"images": 1}}
    assert ok(*RECORDS, "--total", data=LINES) == b"228\n"
    total = json.loads(ok(*RECORDS, "--total", "--json", data=LINES + PICTURE))
    assert total == {"count": 235, "exact": False, "left_out": {"images": 1}}
    assert ok(*RECORDS, data=b"") == b""
    kept = json.loads(ok(*RECORDS, "--json", "--all-fields", data=b'{"id": 7, "exact": 5, "messages": []}'))
    assert kept == {"id": 7, "messages": [], "count": 3, "exact": False}


def test_a_record_that_is_no_request_is_named() -> None:
    ran = run_tokcli(*RECORDS, data=LINES + b'{"messages": 1}\n')
    assert (ran.status, ran.out) == (2, b"124\n101\n3\n")
    assert ran.err.startswith(
        "Error: standard input: record 5: not a request to a chat model: 'messages' is not a list"
    )
    above = failed(*RECORDS, "--max", "110", data=LINES, status=1)
    assert above.err == "Error: standard input: record 1: 124 tokens, more than --max 110\n"
    assert "--records jsonl" in refused("count", "-q", "--chat", data=LINES)
    assert "without --records" in refused(*RECORDS, data=json.dumps(WEATHER, indent=1).encode())


def test_records_that_are_no_requests_are_left_out_on_request() -> None:
    ran = noted(
        "count", "--chat", "--records", "jsonl", "--json", "--skip-invalid", data=b'{"a": 1}\n' + LINES + b"[1]\n{\n"
    )
    assert [json.loads(line)["count"] for line in ran.out.splitlines()] == [124, 101, 3]
    assert "left out 3 invalid records" in ran.err


def test_requests_and_records_have_prices() -> None:
    assert ok("count", "-q", "--chat", "--price", "2.5", data=json.dumps(JARGON).encode()) == b"0.00031\n"
    assert ok(*RECORDS, "--price", "2.5", data=LINES) == b"0.00031\n0.0002525\n0.0000075\n"
    assert ok(*RECORDS, "--price", "2.5", "--total", data=LINES) == b"0.00057\n"
    made = json.loads(ok(*RECORDS, "--price", "2.5", "--total", "--json", data=LINES))
    assert made == {"count": 228, "price": 0.00057, "exact": False}
    lines = ok("count", "--records", "lines", "--price", "1e6", "--budget", "--window", "5", data=b"a b\n\n")
    assert lines == b"3 2\n5 0\n"
    answers = ok("count", "--records", "lines", "--price", "1e6", "--json", data=b"a b\n\n").splitlines()
    assert list(map(json.loads, answers)) == [{"count": 2, "price": 2}, {"count": 0, "price": 0}]


# --- parts ---------------------------------------------------------------------------------------------------------------

AGENT: dict[str, Any] = {
    "system": "Be brief.",
    "messages": [
        {"role": "user", "content": "What is the weather in Paris?"},
        {"role": "assistant", "content": [
            {"type": "text", "text": "Let me look."},
            {"type": "tool_use", "id": "t1", "name": "weather", "input": {"city": "Paris"}},
            {"type": "tool_use", "id": "t2", "name": "search", "input": {"query": "Paris"}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": "15 degrees, cloudy, with some rain in the evening"},
            {"type": "tool_result", "tool_use_id": "t2", "content": "none"},
        ]},
    ],
    "tools": [{"name": "weather", "description": "Says the weather.", "input_schema": {"type": "object"}}],
}  # fmt: skip


def parts(by: str, *arguments: str, request: Any = AGENT) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(
        ok("count", "--chat", "--json", "--by", by, *arguments, data=json.dumps(request).encode())
    )
    return made


@pytest.mark.parametrize("by", ["role", "message", "tool"])
def test_parts_and_the_overhead_add_up_to_the_total(by: str) -> None:
    for request in (AGENT, WEATHER, JARGON, {"messages": []}):
        made = parts(by, request=request)
        assert sum(part["tokens"] for part in made["parts"]) + made["overhead"] == made["total"] == chat(request)
        assert (made["count"], made["exact"]) == (made["total"], False)


def test_each_role_message_or_tool_has_a_row() -> None:
    assert [part["role"] for part in parts("role")["parts"]] == ["system", "user", "assistant", "(tools)"]
    assert [(part["message"], part["role"]) for part in parts("message")["parts"]] == [
        ("system", "system"), ("messages[0]", "user"), ("messages[1]", "assistant"), ("messages[2]", "user"),
        ("(tools)", "(tools)"),
    ]  # fmt: skip
    by_tool = {part["tool"]: part["tokens"] for part in parts("tool")["parts"]}
    assert by_tool.keys() == {"(no tool)", "weather", "search"}
    without = {**AGENT, "messages": AGENT["messages"][:2], "tools": []}
    assert (
        by_tool["weather"]
        > {part["tool"]: part["tokens"] for part in parts("tool", request=without)["parts"]}["weather"]
    )


def test_the_largest_parts_come_first_with_top() -> None:
    every = sorted(part["tokens"] for part in parts("message")["parts"])
    largest = parts("message", "--top", "2")
    assert [part["tokens"] for part in largest["parts"]] == every[:-3:-1]
    assert largest["total"] == chat(AGENT)
    data = json.dumps(AGENT).encode()
    lines = ok("count", "-q", "--chat", "--by", "role", "--top", "1", data=data).decode().splitlines()
    assert [line.split(maxsplit=1)[1] for line in lines] == ["user", "(overhead)", "total (1 of 4 rows)"]
    sorted_lines = ok("count", "-q", "--chat", "--by", "role", "--sort", "name", data=data).decode().splitlines()
    assert [line.split(maxsplit=1)[1] for line in sorted_lines[:4]] == ["(tools)", "assistant", "system", "user"]


def test_parts_are_printed_as_a_table_as_csv_and_as_json_lines() -> None:
    request = [{"role": "user", "content": "hi"}, {"role": "two\nlines", "content": "a"}]
    given = ("count", "-q", "--chat", "--by", "role")
    data = json.dumps(request).encode()
    assert (
        ok(*given, "--price", "1e6", data=data) == " 5 user\n 7 two⏎lines\n 3 (overhead)\n15 total\n15 price\n".encode()
    )
    assert ok(*given, "--csv", data=data) == b'tokens,role\n5,user\n7,"two\nlines"\n'
    rows = [json.loads(line) for line in ok(*given, "--jsonl", data=data).splitlines()]
    assert rows == [{"tokens": 5, "role": "user", "exact": False}, {"tokens": 7, "role": "two\nlines", "exact": False}]


def test_parts_of_several_inputs_and_of_records_are_added_up(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text(json.dumps(AGENT))
    both = json.loads(ok("count", "--chat", "--json", "--by", "role", "a", "b", cwd=tmp_path))
    lines = (json.dumps(AGENT) + "\n") * 2
    assert json.loads(ok(*RECORDS, "--json", "--by", "role", data=lines.encode())) == both
    assert [part["tokens"] for part in both["parts"]] == [2 * part["tokens"] for part in parts("role")["parts"]]
    messages = ok("count", "-q", "--chat", "--by", "message", "a", "b", cwd=tmp_path).decode().splitlines()
    assert [line.split(maxsplit=1)[1] for line in messages[:2]] == ["a: system", "a: messages[0] user"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--by", "role"], "--by role needs --chat"),
        (["--by=tool", "--top", "1"], "--by tool needs --chat"),
        (["--chat", "--by", "role", "--total"], "--total cannot be combined with --by"),
        (["--chat", "--by", "role", "--tree"], "--tree cannot be combined with --by"),
        (["--chat", "--records", "jsonl", "--by", "ext"], "--records cannot be combined with --by ext"),
        (["--chat", "--records", "jsonl", "--by", "message"], "--records cannot be combined with --by message"),
        (["--chat", "--records", "jsonl", "--top", "1"], "--sort and --top have no rows"),
        (["--chat", "--records", "nul"], "--chat cannot be combined with --records nul"),
        (["--records", "lines", "--by", "ext"], "--records cannot be combined with --by ext"),
        (["--records", "lines", "--top", "1"], "--records cannot be combined with --top"),
    ],
)
def test_parts_and_records_that_mean_nothing_are_refused(arguments: list[str], said: str) -> None:
    assert refused("count", *arguments, "-t", "[]").startswith(f"Error: {said}")
