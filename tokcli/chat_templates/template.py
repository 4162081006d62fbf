"""A chat template as data: its texts by name, the file they are from, and the special tokens that they may write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tokcli.errors import VocabularyError

DEFAULT, TOOL_USE = "default", "tool_use"  # names that transformers gives to templates
MAX_TEMPLATE_CHARS = 2**18  # the longest in use have some 30,000


@dataclass(frozen=True)
class NamedTemplate:
    """One template: its text, and what messages call it."""

    text: str
    shown: str


@dataclass(frozen=True)
class ChatTemplates:
    """The templates of a tokenizer by name, which may be none, and its special tokens by role (`bos_token`).

    `knows_tokens`: whether a file says what the special tokens are; then one that is missing there does not exist.
    `puts_first` is the token that llama.cpp puts before a text that does not begin with it; "" for none.
    """

    by_name: Mapping[str, NamedTemplate]
    special_tokens: Mapping[str, str]
    knows_tokens: bool = True
    puts_first: str = ""

    def choose(self, *, has_tools: bool) -> NamedTemplate:
        """Return the template that transformers takes: `tool_use` where there is one and tools are given, or `default`.

        VocabularyError names the templates that there are, if that one is missing, and a file that holds none.

        >>> one, other = NamedTemplate("{{ a }}", "x.jinja"), NamedTemplate("{{ b }}", "x.jinja")
        >>> ChatTemplates({"default": one, "tool_use": other}, {}).choose(has_tools=True).text
        '{{ b }}'
        """
        wanted = TOOL_USE if has_tools and TOOL_USE in self.by_name else DEFAULT
        found = self.by_name.get(wanted)
        if found is None:
            where = next((one.shown for one in self.by_name.values()), None)
            names = ", ".join(map(repr, sorted(self.by_name))) or "none"
            raise VocabularyError(
                f"no chat template named {DEFAULT!r}; those that are there: {names}",
                "Name one of them with --chat-template NAME.",
                where=where,
            )
        if not any(sign in found.text for sign in ("{{", "{%")):
            raise VocabularyError("not a chat template: there is neither {{ nor {% in it", where=found.shown)
        return found
