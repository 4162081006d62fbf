"""Writes tests/data/chat_templates/golden.json: what transformers makes of chats with the templates in that folder.

    python tests/tools/make_chat_golden.py

The templates are our own. For each template, chat and generation prompt (on, off): the rendered text, or null where
transformers refuses the chat. It needs transformers 5.24 and jinja2.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import transformers
from compare_chat_templates import CHATS, SPECIAL_TOKENS, outcome, theirs

FOLDER = Path(__file__).parent.parent / "data" / "chat_templates"


def main() -> None:
    if not transformers.__version__.startswith("5.24."):
        sys.exit(f"the golden texts are of transformers 5.24, not {transformers.__version__}")
    rendered = []
    for path in sorted(FOLDER.glob("*.jinja")):
        for chat in CHATS:
            for prompt in (True, False):
                is_rendered, text = outcome(theirs, path.read_text("utf-8"), CHATS[chat], prompt)
                rendered.append([path.name, chat, prompt, text if is_rendered else None])
    golden = {"special_tokens": SPECIAL_TOKENS, "chats": CHATS, "rendered": rendered}
    FOLDER.joinpath("golden.json").write_text(json.dumps(golden, indent=0, ensure_ascii=True) + "\n")


if __name__ == "__main__":
    main()
