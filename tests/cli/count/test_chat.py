"""`count --chat`: what requests to chat models take, in every form of output, and what is said of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support import noted, ok, refused, run_tokcli

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


def test_what_is_no_text_is_left_out_with_a_note() -> None:
    image = {"type": "image_url", "image_url": {"url": "https://example.org/cat.png"}}
    ran = noted("count", "--chat", data=json.dumps([{"role": "user", "content": [image]}]).encode())
    assert ran.out == b"7\n"
    assert "images" in ran.err


def test_an_estimate_says_so_and_can_be_refused() -> None:
    data = json.dumps(JARGON).encode()
    assert json.loads(ok("count", "--chat", "--json", data=data)) == {"count": 124, "exact": False}
    assert "estimate" in refused("count", "--chat", "--exact-only", data=data)
    assert ok("count", "--exact-only", "-t", "hello world") == b"2\n"
    assert json.loads(ok("count", "--exact-only", "--json", "-t", "hello world")) == {"count": 2}


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
