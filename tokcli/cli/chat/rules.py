"""By which rules the requests to a chat model are counted, for the encoding that a command was given."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import NamedTuple

from tokcli.cli.chat.conversation import ChatCount, ChatRequest
from tokcli.cli.chat.openai_rules import count_request, overhead_of
from tokcli.cli.chat.template_conversation import left_out_of
from tokcli.cli.chat.template_rules import spec_of, template_rules
from tokcli.cli.options import ChatOptions
from tokcli.cli.request import Request
from tokcli.errors import InputError, VocabularyError
from tokcli.formats.limits import read_regular_file
from tokcli.registry.catalog import CATALOG, encoding_of_ranks


class Rules(NamedTuple):
    """Counts a request to a chat model, exactly or by an estimate."""

    counted: Callable[[ChatRequest], ChatCount]
    is_exact: bool
    left_out: Callable[[ChatRequest], Mapping[str, int]] = lambda chat: chat.left_out  # what is not counted, by kind


def rules_for(request: Request[ChatOptions]) -> Rules:
    """Return the rules by which requests to a chat model are counted.

    Those are the chat template of the tokenizer, or OpenAI's for its own encodings; InputError where there are neither.
    """
    encoding = request.encoding
    templates = template_rules(request)
    if templates is not None:
        return Rules(templates.count, is_exact=True, left_out=left_out_of)
    if not is_openais(spec_of(request.options)):
        raise no_template(request)
    overhead = overhead_of(request.options.model, encoding.name)
    return Rules(lambda chat: count_request(chat, overhead, encoding.tokenizer.count), is_exact=False)


def no_template(request: Request[ChatOptions]) -> InputError:
    """Return the error for an encoding that has no chat template."""
    return InputError(
        f"{request.encoding.name} has no chat template, so what its model reads is not known",
        "Name a template with --chat-template FILE, or the tokenizer's folder (with tokenizer_config.json).",
    )


def is_openais(spec: str) -> bool:
    """Return whether what was named as the encoding is one of OpenAI's, by name or as the file that it published."""
    if spec in CATALOG or not os.path.isfile(spec):  # the name may be no valid text
        return spec in CATALOG
    try:
        return encoding_of_ranks(sha256(read_regular_file(spec)).hexdigest()) is not None
    except VocabularyError:  # too large to be one of them
        return False
