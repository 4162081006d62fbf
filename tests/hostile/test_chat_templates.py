"""Chat templates that would take for ever, fill the memory, say what no terminal should show, or are no templates."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from support import ROOT, failed, ok, refused

TOKENIZER = ROOT / "tests" / "data" / "formats" / "plain.tokenizer.json"
CHAT = json.dumps([{"role": "user", "content": "hi"}]).encode()
DOUBLED = "{% set ns = namespace(x=[1], y=[1], t='ab') %}{% for i in range(99) %}{% set ns.x = [ns.x, ns.x] %}{% set ns.y = [ns.y, ns.y] %}{% endfor %}"


def said_of(template: str, tmp_path: Path, *options: str) -> str:
    """Return the error of a run with this template, which names its file."""
    file = tmp_path / "evil.jinja"
    file.write_text(template)
    said = refused("count", "--chat", "-q", "-e", TOKENIZER, "--chat-template", file, *options, data=CHAT)
    assert "evil.jinja" in said
    return said


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ('{{ "a" * 10**10 }}', "makes too much, line 1"),
        ("{{ 9 ** (9 ** 9) }}", "makes too much, line 1"),
        ("\n{% for i in range(10**9) %}{% endfor %}", "makes too much, line 2: Range too big"),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "calls itself, or is nested, too deep"),
        ("{% macro f(x) %}{% for i in [1] %}{{ caller() }}{% endfor %}{% endmacro %}{% macro g() %}{% call f(1) %}{{ g() }}{% endcall %}{% endmacro %}{{ g() }}", "too deep"),
        ("{{ " + "(" * 9000 + "1" + ")" * 9000 + " }}", "too deep"),
        ("{% if a %}" * 3000, "too deep"),
        ("{% for %}", "no valid Jinja2, line 1"),
        ("{{ messages", "no valid Jinja2, line 1"),
        ("{% include 'x' %}", "no loader"),
        ("{{ messages[0].a.b }}", "fails, line 1: 'dict object' has no attribute 'a'"),
        ("{{ 1 / 0 }}", "fails, line 1: division by zero"),
        ("{{ ''.__class__.__mro__ }}", "unsafe"),
        ("{{ messages|map('nothing')|list }}", "No filter named 'nothing'"),
        ("{{ raise_exception('no tools') }}", "refuses the messages: no tools"),
        ("{{ a }}" * 50_000, "a chat template of 350000 characters"),
        ("<html>Not found</html>", "not a chat template"),
    ],
)  # fmt: skip
def test_what_fails_is_told_with_the_file_and_the_line(template: str, said: str, tmp_path: Path) -> None:
    assert said in said_of(template, tmp_path)


def test_what_a_template_says_reaches_no_terminal_as_it_is(tmp_path: Path) -> None:
    said = said_of(r"{{ raise_exception('\x1b[31m\n\u202e' ~ 'evil ' * 999) }}", tmp_path)
    assert "evil" in said and len(said) < 600


@pytest.mark.clock
@pytest.mark.parametrize(
    "template",
    [
        "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
        "{% for i in range(99999) %}{% for j in range(99999) %} {% endfor %}{% endfor %}",
        DOUBLED + "{{ ns.x == ns.y }}",  # a single call of C code
        DOUBLED + "{{ ns.x in [ns.y] }}",
        "{{ range(99999)|map('string')|map('list')|list|string|length * 0 }}" * 99,
    ],
)
def test_what_takes_long_is_ended(template: str, tmp_path: Path) -> None:
    began = time.monotonic()
    said = said_of(template, tmp_path, "--timeout", "1")
    assert "more than 1 s" in said or "makes too much" in said or "of memory" in said
    assert time.monotonic() - began < 20


@pytest.mark.clock
def test_a_template_that_has_never_ended_is_not_tried_again(tmp_path: Path) -> None:
    (tmp_path / "evil.jinja").write_text(
        "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}"
    )
    files = [tmp_path / f"{number}.json" for number in range(20)]
    for file in files:
        file.write_bytes(CHAT)
    began = time.monotonic()
    ran = failed(
        "count", "--chat", "-q", "-e", TOKENIZER, "--chat-template", tmp_path / "evil.jinja", "--timeout", "1", *files
    )
    assert "more than 1 s" in ran.err
    assert time.monotonic() - began < 15


@pytest.mark.memory
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="the size of a process is not known")  # noqa: PTH110
@pytest.mark.parametrize(
    "template",
    [
        "{{ 'a'|center(10**10) }}",
        "{{ 'a\nb'|indent(10**10) }}",
        "{{ '%10000000000d' % 1 }}",
        "{{ '%10000000000d'|format(1) }}",
        "{{ '{:10000000000}'.format(1) }}",
        "{{ 'a'.ljust(10**10) }}",
        "{{ [1]|batch(10**10, 'x')|list }}",
        "{{ (['a' * 10**6] * 10**6)|join }}",
        "{{ ('a' * 10**7).replace('a', 'b' * 10**7) }}",
        "{{ [1]|tojson(indent=10**10) }}",
        "{% set ns = namespace(t='abcdefgh') %}{% for i in range(99) %}{% set ns.t = ns.t ~ ns.t %}{% endfor %}{{ ns.t }}",
        "{% set ns = namespace(t=['abcdefgh']) %}{% for i in range(99) %}{% set ns.t = ns.t + ns.t %}{% endfor %}{{ ns.t }}",
        DOUBLED + "{{ ns.x }}",
        DOUBLED + "{{ ns.x|tojson }}",
    ],
)
def test_what_fills_the_memory_is_ended(template: str, tmp_path: Path) -> None:
    said = said_of(template, tmp_path, "--timeout", "3")
    assert "of memory" in said or "more than 3 s" in said or "makes too much" in said


def test_a_template_cannot_write_or_read_files(tmp_path: Path) -> None:
    for template in ("{% include '/etc/passwd' %}", "{{ cycler.__init__.__globals__.os.listdir('/') }}"):
        said_of(template, tmp_path)


def test_jinja_is_loaded_for_templates_only(tmp_path: Path) -> None:
    """Without the extra, all else works, and the error says what to install."""
    (tmp_path / "jinja2.py").write_text("raise ModuleNotFoundError(\"No module named 'jinja2'\")")
    env = {"PYTHONPATH": os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))}
    (tmp_path / "t.jinja").write_text("{{ a }}")
    said = refused(
        "count", "--chat", "-q", "-e", TOKENIZER, "--chat-template", tmp_path / "t.jinja", data=CHAT, env=env
    )
    assert "pip install 'tokcli[chat]'" in said
    assert ok("count", "-e", TOKENIZER, "-t", "hi", env=env)
