"""The options of commands that render requests to chat models with the template of a tokenizer."""

from __future__ import annotations

from tokcli.cli import options
from tokcli.cli.declare.conflicts import Needs
from tokcli.cli.declare.option import group, option


class ChatOptions(options.EncodingOptions):
    """The options of commands that render requests to chat models, as values."""

    chat: bool
    chat_template: str | None
    no_generation_prompt: bool


takes_template = group(
    option("--chat-template", group="Input", completes="file", metavar="FILE",
           help="Render --chat with the Jinja template in FILE, or with the tokenizer's own of this name."),
    option("--no-generation-prompt", group="Input", is_flag=True,
           help="Do not add what --chat's template puts before the model's answer."),
)  # fmt: skip

TEMPLATE_CONFLICTS = (Needs("--chat-template", "--chat"), Needs("--no-generation-prompt", "--chat"))
