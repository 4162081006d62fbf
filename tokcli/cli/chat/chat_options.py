"""The options of commands that render requests to chat models with the template of a tokenizer."""

from __future__ import annotations

from tokcli.cli import options
from tokcli.cli.declare.conflicts import Needs
from tokcli.cli.declare.option import Option


class ChatOptions(options.EncodingOptions):
    """The options of commands that render requests to chat models, as values."""

    chat: bool
    chat_template: str | None
    no_generation_prompt: bool


_of_chat = Needs("--chat")
takes_template = (
    Option("--chat-template", group="Input", is_rare=True, completes="file", metavar="FILE", conflicts=(_of_chat,),
           help="Render --chat with the template in FILE.",
           more="FILE is a Jinja template. Where the tokenizer has several templates, FILE may be the name of one."),
    Option("--no-generation-prompt", group="Input", is_rare=True, is_flag=True, conflicts=(_of_chat,),
           help="Leave out the beginning of the answer.",
           more="Many templates end with what a model's answer begins with; with this option, they end after the last "
                "message."),
)  # fmt: skip
