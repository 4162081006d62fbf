"""Renders chats with every chat template in some folders, by tokcli and by transformers, and shows each difference.

    python tests/tools/compare_chat_templates.py FOLDER...

The folders are of unpacked PyPI and npm packages: their *.jinja and *.jinja2 files, and the `chat_template` of JSON files.
Where one library refuses a chat, the other has to refuse it too. The last line has the numbers; the exit status is 1 if
there is a difference. It needs transformers 5.24 and jinja2.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Template
from transformers.tokenization_utils_base import _normalize_chat_messages
from transformers.utils.chat_template_utils import render_jinja_template

from tokcli.chat_templates import sandbox
from tokcli.chat_templates.conversation import Conversation, variables_of

SPECIAL_TOKENS = {
    "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>", "sep_token": "<sep>",
    "cls_token": "<cls>", "mask_token": "<mask>", "image_token": "<image>", "audio_token": "<audio>",
}  # fmt: skip
PARAMETERS = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "description": "Name of the city, \"as written\" <there> & 'here'"},
        "unit": {"type": "string", "enum": ["C", "F"], "default": "C"},
        "days": {"type": "array", "items": {"type": "integer", "minimum": 1}},
        "place": {"type": "object", "properties": {"lat": {"type": "number"}, "näme": {"type": ["string", "null"]}}},
    },
    "required": ["city"],
}
TOOL = {
    "type": "function",
    "function": {"name": "weather", "description": "Return the weather.", "parameters": PARAMETERS},
}
PLAIN_TOOL = {
    "type": "function",
    "function": {"name": "now", "description": "Return the time.", "parameters": {"type": "object", "properties": {}}},
}
USER, SYSTEM = {"role": "user", "content": "hi"}, {"role": "system", "content": "Answer in French."}
ANSWER = {"role": "assistant", "content": "Bonjour !"}
CALL = {
    "id": "call00001",
    "type": "function",
    "function": {"name": "weather", "arguments": {"city": "Köln", "days": [1, 2]}},
}
AS_TEXT = {
    "id": "call00002",
    "type": "function",
    "function": {"name": "weather", "arguments": '{"city": "Köln", "unit": null}'},
}
RESULT = {"role": "tool", "name": "weather", "tool_call_id": "call00001", "content": '{"degrees": 21.5}'}
PARTS = {"role": "user", "content": [{"type": "text", "text": "Look: "}, {"type": "text", "text": "again"}]}
PICTURE = {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "What is this?"}]}
DOCUMENTS = [{"title": "Cats", "text": "They meow."}, {"title": "Dogs", "text": "They bark.", "doc_id": 2}]

CHATS: dict[str, dict[str, Any]] = {
    "user": {"messages": [USER]},
    "system": {"messages": [SYSTEM, USER]},
    "developer": {"messages": [{"role": "developer", "content": "Be short."}, USER]},
    "turns": {"messages": [SYSTEM, USER, ANSWER, {"role": "user", "content": "  <|im_end|> {{ x }}\n\n"}]},
    "answered": {"messages": [USER, ANSWER]},
    "thought": {"messages": [USER, {**ANSWER, "reasoning_content": "They greet."}, USER, {"role": "assistant", "content": "<think>\nSo\n</think>\n\nOui"}]},
    "parts": {"messages": [PARTS, ANSWER, USER]},
    "picture": {"messages": [PICTURE]},
    "tools": {"messages": [SYSTEM, USER], "tools": [TOOL, PLAIN_TOOL]},
    "call": {"messages": [USER, {"role": "assistant", "content": None, "tool_calls": [CALL]}, RESULT], "tools": [TOOL]},
    "calls": {"messages": [USER, {"role": "assistant", "content": "Wait.", "tool_calls": [CALL, {**CALL, "id": "call00003"}]}, RESULT, RESULT, ANSWER, USER], "tools": [TOOL]},
    "call as text": {"messages": [USER, {"role": "assistant", "content": "", "tool_calls": [AS_TEXT]}, {**RESULT, "tool_call_id": "call00002"}, ANSWER], "tools": [TOOL]},
    "documents": {"messages": [USER], "documents": DOCUMENTS},
    "two users": {"messages": [USER, USER]},
    "answer first": {"messages": [ANSWER, USER]},
    "no content": {"messages": [{"role": "user"}]},
    "thinking off": {"messages": [SYSTEM, USER], "more": {"enable_thinking": False, "thinking": False}},
    "unicode": {"messages": [{"role": "user", "content": "日本語 \u202e\x00\u2028 \U0001f468\u200d\U0001f469 é"}], "tools": [TOOL]},
}  # fmt: skip


def templates_in(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the templates in a folder: what they are called, and their text."""
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".jinja", ".jinja2", ".j2") and path.is_file():
            yield str(path), path.read_text("utf-8")
        elif (
            path.suffix == ".json"
            and path.is_file()
            and '"chat_template"' in (text := path.read_text("utf-8", "replace"))
        ):
            try:
                yield from ((str(path), template) for template in templates_of(json.loads(text)))
            except ValueError:
                continue


def templates_of(value: Any) -> Iterator[str]:
    """Yield the values of the members `chat_template` anywhere in a JSON value."""
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from templates_of(one)
    found = value.get("chat_template") if isinstance(value, dict) else None
    for one in found if isinstance(found, list) else [found]:
        template = one.get("template") if isinstance(one, dict) else one
        if isinstance(template, str):
            yield template


def theirs(template: str, chat: dict[str, Any], prompt: bool) -> str:
    """Return what transformers renders."""
    rendered, _ = render_jinja_template(
        conversations=[_normalize_chat_messages(chat["messages"])],
        tools=chat.get("tools"),
        documents=chat.get("documents"),
        chat_template=template,
        add_generation_prompt=prompt,
        **(SPECIAL_TOKENS | chat.get("more", {})),
    )
    return str(rendered[0])


def ours(template: str, chat: dict[str, Any], prompt: bool) -> str:
    """Return what tokcli renders, in this process."""
    conversation = Conversation(
        chat["messages"], chat.get("tools"), chat.get("documents"), prompt, chat.get("more", {})
    )
    return sandbox.render(compiled(template), variables_of(conversation, SPECIAL_TOKENS))


@lru_cache(1)
def compiled(template: str) -> Template:
    return sandbox.compile_template(template)


def outcome(render: Any, *given: Any) -> tuple[bool, str]:
    """Return whether a chat was rendered, and the text or the reason."""
    try:
        return True, render(*given)
    except Exception as error:  # noqa: BLE001 - what a template raises
        return False, f"{type(error).__name__}: {error}"


def main() -> None:
    texts: dict[str, str] = {}
    for folder in sys.argv[1:]:
        for shown, template in templates_in(Path(folder)):
            texts.setdefault(template, shown)
    rendered = refused = different = 0
    for template, shown in texts.items():
        for name, chat in CHATS.items():
            for prompt in (True, False):
                expected, found = (outcome(one, template, chat, prompt) for one in (theirs, ours))
                if expected[0] != found[0] or (expected[0] and expected[1] != found[1]):
                    different += 1
                    print(f"{shown}: {name}, {prompt}:\n  theirs {expected!r:.300}\n  ours   {found!r:.300}")
                rendered += expected[0]
                refused += not expected[0]
    print(
        f"{len(texts)} templates: {rendered} chats rendered, {refused} refused by transformers; {different} differences"
    )
    sys.exit(different > 0)


if __name__ == "__main__":
    main()
