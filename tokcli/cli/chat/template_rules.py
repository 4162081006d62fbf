"""Requests to chat models rendered with a chat template, and counted: what a model reads, exactly."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

from tokcli.chat_templates.conversation import variables_of
from tokcli.chat_templates.renderer import Renderer
from tokcli.chat_templates.template import DEFAULT, ChatTemplates, NamedTemplate
from tokcli.chat_templates.template_files import read_template_file
from tokcli.cli.chat.conversation import TOOLS, ChatCount, ChatRequest, ChatText, Share
from tokcli.cli.chat.template_conversation import conversation_of
from tokcli.cli.options import DEFAULT_ENCODING, ChatOptions
from tokcli.cli.request import TEXT, Request
from tokcli.engine.encoding import Encoding
from tokcli.engine.stream.chunks import ReadOptions
from tokcli.engine.tokens import Tokens
from tokcli.errors import InputError
from tokcli.registry.chat_templates import find_templates
from tokcli.registry.models.lookup import tokenizer_for_model

MAX_SEARCHED, MAX_MESSAGES, MAX_TEXT, MAX_LINES = 1 << 20, 500, 10_000, 20


class TemplateRules:
    """The templates of a tokenizer, and what renders and counts requests with them."""

    def __init__(self, request: Request[ChatOptions], templates: ChatTemplates) -> None:
        self._request = request
        self._templates = templates
        self._renderers: dict[NamedTemplate, Renderer] = {}
        self._said: set[str] = set()
        self._lost = ""
        self._special = ReadOptions("strict", frozenset(request.encoding.special_tokens_set), frozenset())
        if default := templates.by_name.get(DEFAULT):
            self._renderer(default).start()  # a fork is best made before there are threads

    def text_of(self, chat: ChatRequest) -> str:
        """Return the text that the template makes of a request: what the model reads, its special tokens as text."""
        wants_prompt = not self._request.options.no_generation_prompt
        conversation = conversation_of(chat, add_generation_prompt=wants_prompt)
        template = self._template_for(chat)
        for name in ("tools", "documents"):
            if getattr(conversation, name) and name not in template.text:
                self._note(f"{template.shown}: the chat template leaves out {name}, so the model does not see them.")
        for name in ("bos_token", "eos_token"):
            if (
                not self._templates.knows_tokens
                and name in template.text
                and name not in self._templates.special_tokens
            ):
                self._note(f"{template.shown}: no file says what the {name} is; it is left empty.")
        try:
            text = self._renderer(template).render(variables_of(conversation, self._templates.special_tokens))
        except InputError as error:
            if any(isinstance(message.get("content"), list) for message in conversation.messages):
                error.hint = error.hint or "Some templates take the content of a message as text only, not as parts."
            raise
        if not text.startswith(first := self._templates.puts_first):
            self._note(
                f"{template.shown}: llama.cpp puts {first} before what this template makes; here it is left out."
            )
        for token in self._not_tokens:
            if token in text:
                raise InputError(
                    f"the chat template writes {token!r}, which is no special token to {self._request.encoding.name}",
                    "Name a tokenizer.json or a GGUF file that has it; a SentencePiece model finds none in a text.",
                )
        if not self._lost and (lost := _lost(chat, text)):
            self._lost = lost  # once, however many requests follow
            self._note(f"{template.shown}: {lost} is in what the chat template makes, and no model sees more of it.")
        return text

    @cached_property
    def _not_tokens(self) -> list[str]:
        """The special tokens of the configuration that the tokenizer would take for several tokens."""
        return [token for token in self._templates.special_tokens.values() if token and self._tokens_in(token) != 1]

    def count(self, chat: ChatRequest) -> ChatCount:
        """Return the tokens of a request: those of the texts in it, and as overhead what the template adds."""
        rendered = self.text_of(chat)
        shares = tuple(self._shares(chat, rendered))
        return ChatCount(self._tokens_in(rendered) - sum(share.tokens for share in shares), shares)

    def _tokens_in(self, text: str) -> int:
        """Return the number of tokens of a rendered text, in which special tokens are what they say."""
        tokenizer = self._request.encoding.tokenizer
        return sum(map(tokenizer.count_part, tokenizer.read_parts([text.encode()], self._special)))

    def _template_for(self, chat: ChatRequest) -> NamedTemplate:
        return self._templates.choose(has_tools=chat.members.get("tools") is not None)

    def _renderer(self, template: NamedTemplate) -> Renderer:
        return self._renderers.setdefault(template, Renderer(template))

    def _shares(self, chat: ChatRequest, rendered: str) -> Iterator[Share]:
        """Yield the tokens of each text, in which special tokens are what they say, as in the rendered text.

        A text that the template leaves out has none.
        """
        template = self._template_for(chat).text
        for message in chat.messages:
            if message.path.startswith("documents") and "documents" not in template:
                continue
            for tool in dict.fromkeys(["", *(one.tool for one in message.texts)]):
                ours = [one for one in message.texts if one.tool == tool]
                texts = [one.text for one in ours if not _is_lost(one, rendered)]
                if ours or not tool:
                    yield Share(sum(map(self._tokens_in, texts)), message.role, message.path, tool)
        for defined in chat.tools if "tools" in template else ():
            schemas = [json.dumps(schema, ensure_ascii=False) for schema in defined.schemas]
            texts = [defined.name, defined.description, *schemas, *defined.texts]
            yield Share(sum(map(self._tokens_in, texts)), TOOLS, TOOLS, defined.name)

    def _note(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            self._request.note(text)


def _lost(chat: ChatRequest, rendered: str) -> str:
    """Return a phrase for the first message of which a text is not in the rendered text; "" if there is none.

    Only the first messages are looked at, as each takes time.
    """
    for message in chat.messages[:MAX_MESSAGES]:
        if not message.path.startswith("messages"):
            continue
        texts = [one for one in message.texts if one.text.strip()]
        if lost := [one for one in texts if _is_lost(one, rendered)]:
            return f"{'nothing' if lost == texts else 'only a part'} of {message.path}"
    return ""


def _is_lost(one: ChatText, rendered: str) -> bool:
    """Return whether no line of a text is in the rendered text.

    Templates may trim texts, cut thoughts off and write JSON in their own way, of which the strings are looked for.
    Only the first lines are, and none in a long text, as each takes time.
    """
    texts = one.inside or (() if one.text[:1] in ("{", "[") else (one.text,))
    lines = [line.strip() for text in texts for line in text[:MAX_TEXT].split("\n") if line.strip()][:MAX_LINES]
    forms = (form for line in lines for form in (line, json.dumps(line, ensure_ascii=False)[1:-1]))
    return bool(lines) and len(rendered) <= MAX_SEARCHED and not any(form in rendered for form in forms)


def template_rules(request: Request[ChatOptions]) -> TemplateRules | None:
    """Return the rules by the chat template that the options name or the tokenizer has; None without one."""
    asked = request.options
    templates = find_templates(spec_of(asked), offline=asked.offline, note=request.note)
    if (named := asked.chat_template) is not None:
        if named in templates.by_name and not os.path.lexists(named):
            templates = replace(templates, by_name={DEFAULT: templates.by_name[named]})
        else:
            given = read_template_file(named)
            templates = replace(templates if templates.knows_tokens else given, by_name=given.by_name)
    if not templates.by_name:
        return None
    if not templates.knows_tokens:
        templates = replace(templates, special_tokens=_first_token(request.encoding))
    return TemplateRules(request, templates)


def _first_token(encoding: Encoding) -> dict[str, str]:
    """Return `bos_token` if the tokenizer's post-processor puts a single token before a text."""
    if not encoding.tokenizer.has_template:
        return {}
    ids = list(encoding.tokenizer.finish([Tokens([TEXT])], True).ids)
    first = ids[: ids.index(TEXT)] if TEXT in ids else []
    return {"bos_token": encoding.decode(first)} if len(first) == 1 else {}


def spec_of(asked: ChatOptions) -> str:
    """Return what the options name as the encoding: a name, a file, a folder or a repository."""
    if asked.model is not None:
        return tokenizer_for_model(asked.model)[0]
    return DEFAULT_ENCODING if asked.encoding is None else asked.encoding
