"""Jinja2's immutable sandbox with the helpers that transformers gives to chat templates, and no others.

A template has no loader, so it includes and imports nothing. What takes long or grows large is ended by `renderer.py`.
(transformers 5.24, utils/chat_template_utils.py, says which helpers there are and what they do.)
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.exceptions import SecurityError, TemplateError
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

MOST_CHARS = 2**27  # of a rendered text: twice those of the largest conversation that is read
MOST_ITEMS = 2**26  # characters or items that `*` makes
MOST_BITS = 2**16  # of a number that `**` makes
SAFE_VERSION = (3, 1, 6)  # older ones have known ways out of the sandbox

# a template that uses what is loaded late, and then fails, since errors load something, too
WARMING = "{{ strftime_now('%c %Z') }}{{ [0]|tojson(indent=1) }}{{ lipsum(n=1, max=21) }}{{ [0]|pprint }}{{ none.a.b }}"


class RaisedError(TemplateError):
    """The template called raise_exception: it takes no such conversation."""


class TooMuchError(Exception):
    """The template makes more than the limit allows; the text says what."""


class GenerationBlocks(Extension):
    """The tags {% generation %} and {% endgeneration %} around what a model has written, which is rendered as it is."""

    tags = {"generation"}  # noqa: RUF012 - Jinja2 reads a set

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("body_of"), [], [], body).set_lineno(line)

    def body_of(self, caller: Callable[[], str]) -> str:
        """Return what is in the block."""
        return caller()


class DictFunction:
    """The function `dict` of templates: it makes dictionaries, and is no class whose attributes lead elsewhere."""

    def __call__(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        return dict(*args, **kwargs)

    def fromkeys(self, *args: Any) -> dict[Any, Any]:
        """Return a dictionary with these keys."""
        return dict.fromkeys(*args)


class PublicNamespace(Namespace):
    """The namespace of templates: its names do not begin with an underscore."""

    def __init__(*args: Any, **kwargs: Any) -> None:  # so that namespace(self=...) works
        self, *rest = args
        values = dict(*rest, **kwargs)
        for name in values:
            _check_name(name)
        Namespace.__init__(self, values)

    def __setitem__(self, name: str, value: Any) -> None:
        _check_name(name)
        Namespace.__setitem__(self, name, value)


def _check_name(name: object) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise SecurityError(f"a namespace has no name {name!r}: none begins with an underscore")


class Sandbox(ImmutableSandboxedEnvironment):
    """The sandbox; `*` and `**` are checked before they make what fits into no memory."""

    intercepted_binops = frozenset({"*", "**"})

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        if operator == "*":
            for made, times in ((left, right), (right, left)):
                if isinstance(made, (str, list, tuple)) and isinstance(times, int) and len(made) * times > MOST_ITEMS:
                    raise TooMuchError(f"`*` makes more than {MOST_ITEMS:,} characters or items")
        elif isinstance(left, int) and isinstance(right, int) and left.bit_length() * right > MOST_BITS:
            raise TooMuchError(f"`**` makes a number of more than {MOST_BITS:,} bits")
        return super().call_binop(context, operator, left, right)


def to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | str | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """Return a value as JSON: the filter `tojson` as transformers has it; Jinja2's own escapes it for HTML."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def raise_exception(message: Any = "") -> None:
    """Refuse the conversation: templates call this."""
    raise RaisedError(str(message))


def strftime_now(form: str) -> str:
    """Return the time of day and the date in a form of `strftime`."""
    return datetime.now().strftime(form)


def is_safe_version() -> bool:
    """Return whether the installed Jinja2 is one without known ways out of its sandbox."""
    numbers = [int(part) for part in getattr(jinja2, "__version__", "").split(".")[:3] if part.isdecimal()]
    return not numbers or tuple(numbers) >= SAFE_VERSION


def compile_template(text: str) -> jinja2.Template:
    """Return the program that a template is; an exception of Jinja2's says what is wrong in it."""
    sandbox = Sandbox(trim_blocks=True, lstrip_blocks=True, extensions=[GenerationBlocks, loopcontrols])
    sandbox.filters["tojson"] = to_json
    sandbox.globals.update(
        raise_exception=raise_exception, strftime_now=strftime_now, dict=DictFunction(), namespace=PublicNamespace
    )
    return sandbox.from_string(text)


def load_what_comes_late() -> None:
    """Load what Jinja2 and Python load at first use (the time zone, tracebacks, words), while files can be opened."""
    template = compile_template(WARMING)
    with suppress(TemplateError):
        render(template, {})


def render(template: jinja2.Template, variables: dict[str, Any]) -> str:
    """Return the text that a template makes of its variables; TooMuchError where it is too long."""
    parts, size = [], 0
    for part in template.generate(variables):
        parts.append(part)
        size += len(part)
        if size > MOST_CHARS:
            raise TooMuchError(f"it writes more than {MOST_CHARS:,} characters")
    return "".join(parts)


def line_of(error: BaseException) -> int | None:
    """Return the line of the template at which an exception was raised; None where that is not known."""
    line = getattr(error, "lineno", None)
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<template>":
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
