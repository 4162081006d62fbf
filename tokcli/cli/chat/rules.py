"""By which rules the requests to a chat model are counted, for the encoding that a command was given."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tokcli.cli.chat.conversation import ChatCount, ChatRequest
from tokcli.cli.chat.openai_rules import count_request, overhead_of
from tokcli.cli.options import EncodingOptions
from tokcli.cli.request import Request


class Rules(NamedTuple):
    """What counts a request to a chat model, and whether that is exact; else it is an estimate."""

    counted: Callable[[ChatRequest], ChatCount]
    is_exact: bool


def rules_for(request: Request[EncodingOptions]) -> Rules:
    """Return the rules by which requests to a chat model are counted."""
    overhead = overhead_of(request.options.model, request.encoding.name)
    tokens_in = request.encoding.tokenizer.count
    return Rules(lambda chat: count_request(chat, overhead, tokens_in), is_exact=False)
