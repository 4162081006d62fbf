"""The sandbox renders what transformers renders, and lets nothing out."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jinja2 import TemplateError
from support import ROOT

from tokcli.chat_templates import sandbox
from tokcli.chat_templates.conversation import Conversation, variables_of
from tokcli.errors import InputError

DATA = ROOT / "tests" / "data" / "chat_templates"
GOLDEN = json.loads((DATA / "golden.json").read_text("utf-8"))
MESSAGES = [{"role": "user", "content": "hi"}]


def rendered(text: str, **variables: Any) -> str:
    return sandbox.render(sandbox.compile_template(text), {"messages": MESSAGES, **variables})


@pytest.mark.parametrize("name", sorted({row[0] for row in GOLDEN["rendered"]}))
def test_each_chat_is_rendered_as_transformers_renders_it(name: str) -> None:
    template = sandbox.compile_template((DATA / name).read_text("utf-8"))
    rows = [row[1:] for row in GOLDEN["rendered"] if row[0] == name]
    assert len(rows) == 2 * len(GOLDEN["chats"])
    for chat, prompt, expected in rows:
        given = GOLDEN["chats"][chat]
        conversation = Conversation(
            given["messages"], given.get("tools"), given.get("documents"), prompt, given.get("more", {})
        )
        variables = variables_of(conversation, GOLDEN["special_tokens"])
        if expected is None:
            with pytest.raises(TemplateError):
                sandbox.render(template, variables)
        else:
            assert sandbox.render(template, variables) == expected, chat


@pytest.mark.parametrize(
    "template",
    [
        "{{ ''.__class__.__base__ }}",
        "{{ ''|attr('__class__')|attr('__mro__') or raise_exception('empty') }}",
        "{{ ('{0.__class__.__mro__}').format('') or raise_exception('empty') }}",
        "{{ messages.append(1) }}",
        "{{ messages[0].update(a=1) }}",
        "{{ raise_exception.__globals__.x }}",
        "{{ cycler.__init__.__globals__ }}",
        "{{ lipsum.__globals__['os'] }}",
        "{{ dict.mro() }}",
        "{{ namespace(__class__=1) }}",
        "{% set ns = namespace() %}{% set ns._x = 1 %}",
        "{% include '/etc/passwd' %}",
        "{% import 'os' as os %}",
        "{% from 'os' import system %}",
        "{% extends 'base' %}",
        "{{ self.__init__.__globals__ }}",
        "{{ config.items() }}",
        "{{ open('/etc/passwd') }}",
    ],
)
def test_nothing_leads_out_of_the_sandbox(template: str) -> None:
    with pytest.raises((TemplateError, TypeError)):  # TypeError: there is no loader
        rendered(template)


@pytest.mark.parametrize(
    "template", ["{{ 'ab' * 10**10 }}", "{{ 10**10 * [1] }}", "{{ 7 ** (10**9) }}", "{{ (0,) * 2**40 }}"]
)
def test_an_operator_makes_nothing_huge(template: str) -> None:
    with pytest.raises(sandbox.TooMuchError):
        rendered(template)


def test_small_products_and_powers_are_pythons() -> None:
    assert (
        rendered("{{ 'ab' * 3 }} {{ 2 ** 10 }} {{ 2 ** -1 }} {{ 3 * 0.5 }} {{ [1] * 2 }}")
        == "ababab 1024 0.5 1.5 [1, 1]"
    )


def test_a_range_has_an_end() -> None:
    with pytest.raises(OverflowError):
        rendered("{% for i in range(10**9) %}{% endfor %}")


def test_the_line_of_a_mistake_is_known() -> None:
    with pytest.raises(TemplateError) as raised:
        rendered("\n\n{{ messages[0].role.a.b }}")
    assert sandbox.line_of(raised.value) == 3
    with pytest.raises(TemplateError) as raised:
        rendered("\n{% for %}")
    assert sandbox.line_of(raised.value) == 2


def test_members_that_are_null_are_left_out_and_reasoning_has_all_its_names() -> None:
    message = {"role": "assistant", "content": None, "reasoning": "so", "tool_calls": None}
    made = variables_of(Conversation([message]), {"bos_token": "<s>"})
    assert made["messages"] == [{"role": "assistant", "reasoning": "so", "thinking": "so", "reasoning_content": "so"}]
    assert (made["bos_token"], made["tools"], made["documents"], made["add_generation_prompt"]) == (
        "<s>",
        None,
        None,
        True,
    )


def test_a_conversation_has_a_message() -> None:
    with pytest.raises(InputError, match="empty"):
        variables_of(Conversation([]), {})


def test_other_values_of_a_conversation_win_over_special_tokens_and_not_over_messages() -> None:
    made = variables_of(Conversation(MESSAGES, more={"bos_token": "<b>", "messages": 1}), {"bos_token": "<s>"})
    assert made["bos_token"] == "<b>"
    assert made["messages"] == MESSAGES
