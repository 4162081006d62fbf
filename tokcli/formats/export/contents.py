"""What each file of a vocabulary holds in a format, in the order of `output_names.names_of`."""

from __future__ import annotations

import json

from tokcli.engine.unicode.properties import is_printable
from tokcli.formats.export import writers
from tokcli.formats.export.tokenizer_config import format_tokenizer_config
from tokcli.formats.export.tokenizer_json import format_huggingface
from tokcli.formats.export.writers import ExportVocabulary
from tokcli.formats.tiktoken import format_tiktoken


def contents_in(made: ExportVocabulary, form: str) -> list[bytes]:
    """Return the content of each file of a format; VocabularyError where the format cannot hold the vocabulary."""
    if form == "tiktoken":
        return [format_tiktoken(dict(made.mergeable_ranks)), _sidecar(made)]
    if form == "minbpe":
        return list(writers.format_minbpe(made))
    if form == "gpt2":
        return list(writers.format_gpt2(made))
    return [format_huggingface(made), format_tokenizer_config(made.special_tokens)]


def _sidecar(made: ExportVocabulary) -> bytes:
    """Return the pattern and the special tokens as JSON, readable where a terminal would only show it."""
    table = {"pat_str": made.pat_str, "special_tokens": dict(made.special_tokens)}
    text = json.dumps(table, ensure_ascii=False)
    return f"{text if is_printable(text) else json.dumps(table)}\n".encode()
