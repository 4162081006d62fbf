"""`count --chat` with a tokenizer that has a chat template: the tokens of what the template makes, exactly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from gguf_files import INT32, llama
from support import ROOT, noted, ok, refused

from tokcli import load_encoding

DATA = ROOT / "tests" / "data"
GOLDEN = json.loads((DATA / "chat_templates" / "golden.json").read_text("utf-8"))
TOKENIZER = DATA / "formats" / "plain.tokenizer.json"  # with the special token <|end|>
HI = {"messages": [{"role": "user", "content": "hi"}]}
TEMPLATE = "{% for m in messages %}{{ bos_token }}{{ m.role }}: {{ m.content }}{% endfor %}{% if add_generation_prompt %}>{% endif %}"


def tokenizer(folder: Path, template: str = TEMPLATE, **config: Any) -> Path:
    """A folder with a tokenizer and its chat template."""
    folder.mkdir(exist_ok=True)
    (folder / "tokenizer.json").write_bytes(TOKENIZER.read_bytes())
    written = {"chat_template": template, "bos_token": "<|end|>"} | config
    (folder / "tokenizer_config.json").write_text(json.dumps(written))
    return folder


def ids_in(text: str) -> list[int]:
    return load_encoding(TOKENIZER).encode(text, allowed_special="all")


def tokens_in(text: str) -> int:
    return len(ids_in(text))


def count(*arguments: object, chat: Any = HI) -> int:
    return int(ok("count", "--chat", *arguments, data=json.dumps(chat).encode()))


def test_the_count_is_that_of_the_rendered_text_with_its_special_tokens(tmp_path: Path) -> None:
    made = tokenizer(tmp_path / "t")
    expected = tokens_in("<|end|>user: hi>")
    assert expected < tokens_in("<|end|>") + len("user: hi>") + 1
    assert count("-e", made) == expected
    assert count("-e", made / "tokenizer.json") == expected
    assert count("-e", made, "--no-generation-prompt") == tokens_in("<|end|>user: hi")


def test_a_mere_list_of_messages_is_a_conversation(tmp_path: Path) -> None:
    assert count("-e", tokenizer(tmp_path / "t"), chat=HI["messages"]) == count("-e", tmp_path / "t")


@pytest.mark.parametrize("name", ["turns.jinja", "tools.jinja"])
def test_counts_are_those_of_what_transformers_renders(name: str, tmp_path: Path) -> None:
    roles = GOLDEN["special_tokens"]
    made = tokenizer(tmp_path / "t", (DATA / "chat_templates" / name).read_text("utf-8"), **roles)
    described = json.loads(TOKENIZER.read_text())
    described["added_tokens"] += [
        described["added_tokens"][0] | {"id": number, "content": token}
        for number, token in enumerate(roles.values(), 401)
    ]
    (made / "tokenizer.json").write_text(json.dumps(described))
    encoding = load_encoding(made)
    rows = [
        row
        for row in GOLDEN["rendered"]
        if row[0] == name and row[3] is not None and "more" not in GOLDEN["chats"][row[1]]
    ]
    chats = {chat for _, chat, _, _ in rows} - {"picture"}
    for prompt in (True, False):
        files = [tmp_path / f"{number}.json" for number in range(len(chats))]
        for file, chat in zip(files, sorted(chats), strict=True):
            file.write_text(json.dumps(GOLDEN["chats"][chat]))
        texts = [row[3] for chat in sorted(chats) for row in rows if row[1:3] == [chat, prompt]]
        expected = [len(encoding.encode(text, allowed_special="all")) for text in texts]
        options = [] if prompt else ["--no-generation-prompt"]
        ran = noted("count", "--chat", "--jsonl", "-e", made, *options, *files)
        assert [json.loads(line)["tokens"] for line in ran.out.splitlines()] == expected


def test_a_template_may_be_named(tmp_path: Path) -> None:
    file = tmp_path / "own.jinja"
    file.write_text("{{ messages[0].content }}{{ eos_token }}")
    made = tokenizer(tmp_path / "t", eos_token="<|end|>")
    assert count("-e", made, "--chat-template", file) == tokens_in("hi<|end|>")
    assert count("-e", "cl100k_base", "--chat-template", file, "-q") == 1


def test_a_template_may_be_one_of_the_tokenizers_own(tmp_path: Path) -> None:
    named = [{"name": "rag", "template": "{{ messages[0].content }}<|end|>"}]
    made = tokenizer(tmp_path / "t", chat_template=named)
    assert "--chat-template NAME" in refused("count", "--chat", "-e", made, data=json.dumps(HI).encode())
    assert count("-e", made, "--chat-template", "rag") == tokens_in("hi<|end|>")


def test_records_that_the_template_refuses_may_be_left_out(tmp_path: Path) -> None:
    made = tokenizer(tmp_path / "t", "{{ messages[0].content.strip() }}{{ raise_exception('no') if messages[1] }}")
    two = {"messages": HI["messages"] * 2}
    lines = "\n".join(
        map(json.dumps, (HI, two, {"messages": [{"role": "user", "content": 5}]}, {"messages": [{}]}, HI))
    )
    given = ["--chat", "-e", made, "--records", "jsonl"]
    for command, answer in (("count", str(tokens_in("hi"))), ("encode", " ".join(map(str, ids_in("hi"))))):
        assert "record 2: the chat template" in refused(command, *given, data=lines.encode())
        ran = noted(command, *given, "--skip-invalid", data=lines.encode())
        assert ran.out.decode() == f"{answer}\n" * 2
        assert "left out 3 invalid records" in ran.err
        (made / "chat_template.jinja").write_text("{% for %}")
        assert "no valid Jinja2" in refused(command, *given, "--skip-invalid", data=lines.encode())
        (made / "chat_template.jinja").unlink()


def test_special_tokens_that_no_file_tells_are_noted(tmp_path: Path) -> None:
    file = tmp_path / "own.jinja"
    file.write_text("{{ bos_token }}{{ messages[0].content }}")
    ran = noted("count", "--chat", "-e", TOKENIZER, "--chat-template", file, data=json.dumps(HI).encode())
    assert int(ran.out) == tokens_in("hi")
    assert "no file says what the bos_token is" in ran.err


def test_the_first_token_of_the_post_processor_is_bos(tmp_path: Path) -> None:
    described = json.loads(TOKENIZER.read_text())
    special = {"SpecialToken": {"id": "<|end|>", "type_id": 0}}
    text = {"Sequence": {"id": "A", "type_id": 0}}
    described["post_processor"] = {
        "type": "TemplateProcessing", "single": [special, text], "pair": [special, text, {"Sequence": {"id": "B", "type_id": 0}}],
        "special_tokens": {"<|end|>": {"id": "<|end|>", "ids": [400], "tokens": ["<|end|>"]}},
    }  # fmt: skip
    (tmp_path / "tokenizer.json").write_text(json.dumps(described))
    (tmp_path / "chat_template.jinja").write_text("{{ bos_token }}{{ messages[0].content }}")
    assert count("-e", tmp_path) == tokens_in("<|end|>hi")


@pytest.mark.parametrize("file", ["plain.tokenizer.json", "bpe.model"])
def test_a_special_token_that_the_tokenizer_would_take_for_text_is_refused(file: str, tmp_path: Path) -> None:
    name = "tokenizer.model" if file.endswith(".model") else "tokenizer.json"
    (tmp_path / name).write_bytes((DATA / "formats" / file).read_bytes())
    config = {"bos_token": "<s>", "chat_template": "{{ bos_token }}{{ messages[0].content }}"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    said = refused("count", "--chat", "-e", tmp_path, data=json.dumps(HI).encode())
    assert "writes '<s>', which is no special token" in said
    config["chat_template"] = "{{ messages[0].content }}"
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    assert count("-e", tmp_path) == len(load_encoding(tmp_path).encode("hi"))


def test_a_gguf_file_has_its_template(tmp_path: Path) -> None:
    kinds = ([2, 3, 3, *[6] * 256, *[1] * 3], INT32)  # <s> and </s> are control tokens
    made = llama(
        tmp_path / "a.gguf", token_type=kinds, **{"/chat_template": "{{ bos_token }}{{ messages[0].content }}"}
    )
    chat = [{"role": "user", "content": "a"}]
    assert count("-e", made, chat=chat) == 2
    llama(made, token_type=kinds, **{"/chat_template": "{{ messages[0].content }}"})
    ran = noted("count", "--chat", "-e", made, data=json.dumps(chat).encode())
    assert ran.out == b"1\n"
    assert "llama.cpp puts <s> before" in ran.err


def test_a_tokenizer_without_a_template_is_refused() -> None:
    said = refused("count", "--chat", "-e", TOKENIZER, data=json.dumps(HI).encode())
    assert "plain.tokenizer has no chat template" in said
    assert "--chat-template FILE" in said


def test_openais_encodings_keep_their_rules() -> None:
    assert int(noted("count", "--chat", "-e", "o200k_base", data=json.dumps(HI).encode()).out) == 8


def test_exact_counts_may_be_asked_for(tmp_path: Path) -> None:
    assert count("--exact-only", "-e", tokenizer(tmp_path / "t")) == count("-e", tmp_path / "t")


@pytest.mark.parametrize(
    "members", [{"tools": [{"type": "function", "function": {"name": "f"}}]}, {"documents": [{"text": "d"}]}]
)
def test_what_a_template_leaves_out_is_noted(members: dict[str, Any], tmp_path: Path) -> None:
    ran = noted("count", "--chat", "-e", tokenizer(tmp_path / "t"), data=json.dumps(HI | members).encode())
    assert f"the chat template leaves out {next(iter(members))}" in ran.err


# --- what Anthropic's API and MCP say otherwise ----------------------------------------------------------------------

SHOW = "{% for m in messages %}[{{ m.role }}|{{ m.content }}|{{ m.tool_calls|tojson if m.tool_calls else '' }}|{{ m.name }}|{{ m.reasoning_content }}]{% endfor %}{{ tools|tojson }}"
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": {"x": 1}}}
TOOL = {"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}}


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (
            {"system": "s", **HI},
            {"messages": [{"role": "system", "content": "s"}, *HI["messages"]]},
        ),
        (
            {"system": [{"type": "text", "text": "s"}, {"type": "text", "text": "t"}], **HI},
            {"messages": [{"role": "system", "content": "s\nt"}, *HI["messages"]]},
        ),
        (
            HI | {"tools": [{"name": "f", "description": "d", "input_schema": {"type": "object"}}]},
            HI | {"tools": [TOOL]},
        ),
        (
            HI | {"tools": [{"name": "f", "description": "d", "inputSchema": {"type": "object"}}]},
            HI | {"tools": [TOOL]},
        ),
        (
            {
                "messages": [
                    *HI["messages"],
                    {
                        "role": "assistant",
                        "content": [
                            {"type": "thinking", "thinking": "hm"},
                            {"type": "text", "text": "ok"},
                            {"type": "tool_use", "id": "c1", "name": "f", "input": {"x": 1}},
                        ],
                    },
                    {
                        "role": "user",
                        "content": [
                            {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "1"}]},
                            {"type": "text", "text": "go"},
                        ],
                    },
                ]
            },
            {
                "messages": [
                    *HI["messages"],
                    {"role": "assistant", "content": "ok", "reasoning_content": "hm", "tool_calls": [CALL]},
                    {"role": "tool", "tool_call_id": "c1", "content": "1", "name": "f"},
                    {"role": "user", "content": "go"},
                ]
            },
        ),
    ],
)
def test_what_other_apis_have_is_said_as_transformers_has_it(
    given: dict[str, Any], meant: dict[str, Any], tmp_path: Path
) -> None:
    made = tokenizer(tmp_path / "t", SHOW)
    assert count("-e", made, chat=given) == count("-e", made, chat=meant)


def test_values_for_the_template_are_handed_on(tmp_path: Path) -> None:
    made = tokenizer(
        tmp_path / "t", "{{ messages[0].content }}{% if enable_thinking %}<|end|>{% endif %}{{ add_generation_prompt }}"
    )
    options = {"chat_template_kwargs": {"enable_thinking": True}, "add_generation_prompt": False}
    assert int(noted("count", "--chat", "-e", made, data=json.dumps(HI | options).encode()).out) == tokens_in(
        "hi<|end|>False"
    )


@pytest.mark.parametrize(
    ("chat", "said"),
    [
        ({"contents": [{"parts": [{"text": "hi"}]}]}, "takes a list of messages"),
        ({"input": "hi"}, "takes a list of messages"),
        ({"messages": []}, "the conversation is empty"),
        (HI | {"documents": ["d"]}, "document 1 is not an object"),
        (HI | {"chat_template_kwargs": {"messages": []}}, "chat_template_kwargs"),
    ],
)
def test_what_no_template_takes_is_refused(chat: Any, said: str, tmp_path: Path) -> None:
    assert said in refused("count", "--chat", "-q", "-e", tokenizer(tmp_path / "t"), data=json.dumps(chat).encode())


# --- --by ------------------------------------------------------------------------------------------------------------

ASKED = {"system": "be brief", **HI, "tools": [{"name": "f", "description": "d", "input_schema": {"type": "object"}}]}


def test_parts_are_the_texts_of_messages_and_tools_and_the_rest_is_the_templates(tmp_path: Path) -> None:
    made = tokenizer(tmp_path / "t", TEMPLATE + "{{ tools|tojson if tools }}")
    asked = json.dumps(ASKED).encode()
    parts = json.loads(ok("count", "--chat", "--json", "--by", "role", "-e", made, data=asked))
    sizes = {part["role"]: part["tokens"] for part in parts["parts"]}
    assert list(sizes) == ["system", "user", "(tools)"]
    assert sizes["system"] == tokens_in("be brief")
    assert sizes["user"] == tokens_in("hi")
    assert sum(sizes.values()) + parts["overhead"] == parts["total"] == count("-e", made, chat=ASKED)
    tools = json.loads(ok("count", "--chat", "--json", "--by", "tool", "-e", made, data=asked))
    assert [part["tool"] for part in tools["parts"]] == ["(no tool)", "f"]


def test_special_tokens_in_the_text_of_a_message_are_the_messages_tokens(tmp_path: Path) -> None:
    text = "<|end|>" * 9 + "hi"
    chat = {"messages": [{"role": "user", "content": text}]}
    made = tokenizer(tmp_path / "t")
    parts = json.loads(ok("count", "--chat", "--by", "message", "--json", "-e", made, data=json.dumps(chat).encode()))
    assert [part["tokens"] for part in parts["parts"]] == [tokens_in(text)]
    assert parts["overhead"] >= 0
    assert parts["total"] == tokens_in(f"<|end|>user: {text}>")


def test_tools_that_the_template_leaves_out_take_nothing(tmp_path: Path) -> None:
    ran = noted(
        "count", "--chat", "--json", "--by", "tool", "-e", tokenizer(tmp_path / "t"), data=json.dumps(ASKED).encode()
    )
    parts = json.loads(ran.out)
    assert [part["tool"] for part in parts["parts"]] == ["(no tool)"]
    assert parts["overhead"] >= 0


def test_a_template_that_takes_no_parts_gets_a_hint(tmp_path: Path) -> None:
    made = tokenizer(tmp_path / "t", "{{ messages[0].content.strip() }}")
    chat = [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]
    said = refused("count", "--chat", "-e", made, data=json.dumps(chat).encode())
    assert "fails, line 1: 'list object' has no attribute 'strip'" in said
    assert "as text only, not as parts" in said


def test_what_stands_beside_messages_is_given_to_the_template_or_named(tmp_path: Path) -> None:
    made = tokenizer(tmp_path / "t", TEMPLATE + "{{ tools|tojson if tools }}")
    old = HI | {"functions": [{"name": "f", "parameters": {"type": "object"}}], "instructions": "be brief"}
    new = {
        "messages": [{"role": "system", "content": "be brief"}, *HI["messages"]],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}],
    }
    assert count("-e", made, chat=old) == count("-e", made, chat=new)
    schema = {"type": "json_schema", "json_schema": {"schema": {"type": "object", "properties": {"a": {}}}}}
    ran = noted(
        "count",
        "--chat",
        "--json",
        "-e",
        made,
        data=json.dumps(HI | {"response_format": schema, "input": "x"}).encode(),
    )
    assert json.loads(ran.out)["left_out"] == {"members 'input'": 1, "schemas of the answer": 1}


TEXT_PARTS = "{% for m in messages %}{{ m.role }}:{% for p in m.content if p.type == 'text' %}{{ p.text }}{% endfor %}{% endfor %}"


def test_a_message_of_which_the_template_makes_nothing_is_noted(tmp_path: Path) -> None:
    seen = {"role": "user", "content": [{"type": "text", "text": " hello "}]}
    refusal = {"role": "assistant", "content": [{"type": "refusal", "refusal": "I cannot do that."}]}
    made = tokenizer(tmp_path / "t", TEXT_PARTS)
    assert count("-e", made, chat=[seen]) == tokens_in("user: hello ")
    ran = noted("count", "--chat", "-e", made, data=json.dumps([seen, refusal]).encode())
    assert "nothing of messages[1] is in what the chat template makes" in ran.err
    lines = "".join(json.dumps([seen] * number + [refusal]) + "\n" for number in range(9))
    ran = noted("count", "--chat", "--records", "jsonl", "-e", made, data=lines.encode())
    assert ran.err.count("nothing of messages") == 1


def test_a_part_of_a_message_that_the_template_drops_is_noted_and_has_no_tokens(tmp_path: Path) -> None:
    """Its tokens were taken off the overhead, which became negative, and no note told of it."""
    parts = [{"type": "text", "text": "hello"}, {"type": "refusal", "refusal": "I cannot do that. " * 9}]
    made = tokenizer(tmp_path / "t", TEXT_PARTS)
    data = json.dumps([{"role": "user", "content": parts}]).encode()
    ran = noted("count", "--chat", "--by", "message", "--json", "-e", made, data=data)
    assert "only a part of messages[0] is in what the chat template makes" in ran.err
    counted = json.loads(ran.out)
    assert [part["tokens"] for part in counted["parts"]] == [tokens_in("hello")]
    assert counted["overhead"] > 0 and counted["total"] == tokens_in("user:hello")


def test_arguments_that_a_template_writes_as_other_json_are_not_lost(tmp_path: Path) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"city":"Oslo","n":1}'}}
    made = tokenizer(tmp_path / "t", "{% for m in messages %}{{ m.tool_calls | tojson }}{% endfor %}")
    assert count("-e", made, chat=[{"role": "assistant", "content": "", "tool_calls": [call]}]) > 0


def test_a_thought_that_the_template_cuts_off_is_no_lost_message(tmp_path: Path) -> None:
    made = tokenizer(tmp_path / "t", "{% for m in messages %}{{ m.content.split('</think>')[-1].strip() }}{% endfor %}")
    chat = [{"role": "assistant", "content": "<think>\nhm\n</think>\n\n answer"}]
    assert count("-e", made, chat=chat) == tokens_in("answer")


def test_tools_that_only_amazon_bedrock_has_are_named(tmp_path: Path) -> None:
    tools = {"tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": {}}}}]}
    ran = noted(
        "count", "--chat", "-e", tokenizer(tmp_path / "t"), data=json.dumps(HI | {"toolConfig": tools}).encode()
    )
    assert "members 'toolConfig' (1)" in ran.err
