"""What a chat template is given: the messages and tools of a conversation, prepared as transformers prepares them.

(transformers 5.24: `apply_chat_template` in tokenization_utils_base.py, `render_jinja_template` in
utils/chat_template_utils.py.)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from tokcli.errors import InputError

REASONING = ("reasoning_content", "thinking", "reasoning")  # the names under which a message has what a model thought


class Conversation(NamedTuple):
    """A conversation as the members of a request have it; `more` are other values that the template may read."""

    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]] | None = None
    documents: list[dict[str, Any]] | None = None
    add_generation_prompt: bool = True
    more: Mapping[str, Any] = {}


def variables_of(conversation: Conversation, special_tokens: Mapping[str, str]) -> dict[str, Any]:
    """Return the variables with which transformers renders a conversation; InputError for one without messages.

    >>> variables_of(Conversation([{"role": "user", "content": None}]), {"bos_token": "<s>"})["messages"]
    [{'role': 'user'}]
    """
    if not conversation.messages:
        raise InputError("the conversation is empty", "A chat template needs at least one message.")
    return {
        **special_tokens,
        **conversation.more,
        "messages": [_prepared(message) for message in conversation.messages],
        "tools": conversation.tools,
        "documents": conversation.documents,
        "add_generation_prompt": conversation.add_generation_prompt,
    }


def _prepared(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message without members that are null, and with its reasoning under the names that templates read."""
    kept = {name: value for name, value in message.items() if value is not None}
    reasoning = next((kept[name] for name in REASONING if name in kept), None)
    return kept if reasoning is None else {"thinking": reasoning, **kept, "reasoning_content": reasoning}
