"""The options of commands that render requests to chat models with the template of a tokenizer."""

from __future__ import annotations

from tokcli.cli import options
from tokcli.cli.conflicts import Needs
from tokcli.cli.options import option


class ChatOptions(options.EncodingOptions):
    """The options of commands that render requests to chat models, as values."""

    chat: bool
    chat_template: str | None
    no_generation_prompt: bool


takes_template = options.group(
    option("--chat-template", metavar="FILE", shell_complete=options.complete_file,
           help="Render --chat with the Jinja template in FILE, or with the tokenizer's own of this name."),
    option("--no-generation-prompt", is_flag=True,
           help="Do not add what --chat's template puts before the model's answer."),
)  # fmt: skip

TEMPLATE_CONFLICTS = (Needs("--chat-template", "--chat"), Needs("--no-generation-prompt", "--chat"))
