"""The table of models and their encodings, with the names and prefixes of tiktoken 0.14 (tiktoken/model.py).

A test compares the table with tiktoken's.
"""

from __future__ import annotations

from collections.abc import Iterable

from tokcli.engine.base.arguments import check_text
from tokcli.errors import UnknownModelError, did_you_mean

# each row: an encoding, and names or prefixes of models; the order of rows and names is tiktoken's
_MODELS = (
    ("o200k_base", "o1 o3 o4-mini gpt-5 gpt-4.1 gpt-4o"),
    ("cl100k_base", "gpt-4 gpt-3.5-turbo gpt-3.5 gpt-35-turbo davinci-002 babbage-002"),
    ("cl100k_base", "text-embedding-ada-002 text-embedding-3-small text-embedding-3-large"),
    ("p50k_base", "text-davinci-003 text-davinci-002"),
    ("r50k_base", "text-davinci-001 text-curie-001 text-babbage-001 text-ada-001 davinci curie babbage ada"),
    ("p50k_base", "code-davinci-002 code-davinci-001 code-cushman-002 code-cushman-001 davinci-codex cushman-codex"),
    ("p50k_edit", "text-davinci-edit-001 code-davinci-edit-001"),
    ("r50k_base", "text-similarity-davinci-001 text-similarity-curie-001"),
    ("r50k_base", "text-similarity-babbage-001 text-similarity-ada-001"),
    ("r50k_base", "text-search-davinci-doc-001 text-search-curie-doc-001"),
    ("r50k_base", "text-search-babbage-doc-001 text-search-ada-doc-001"),
    ("r50k_base", "code-search-babbage-code-001 code-search-ada-code-001"),
    ("gpt2", "gpt2 gpt-2"),
)
_PREFIXES = (
    ("o200k_base", "o1- o3- o4-mini- gpt-5 gpt-4.5- gpt-4.1- chatgpt-4o- gpt-4o-"),
    ("cl100k_base", "gpt-4- gpt-3.5-turbo- gpt-35-turbo-"),
    ("o200k_harmony", "gpt-oss-"),
    ("o200k_base", "ft:gpt-4o"),
    ("cl100k_base", "ft:gpt-4 ft:gpt-3.5-turbo ft:davinci-002 ft:babbage-002"),
)
MODELS_OF_USERS = "TOKCLI_MODELS"  # the environment variable that names a file of models beside these


def _by_model(rows: Iterable[tuple[str, str]]) -> dict[str, str]:
    return {model: encoding for encoding, models in rows for model in models.split()}


MODEL_TO_ENCODING = _by_model(_MODELS)
# The first prefix that fits names the encoding of a dated or fine-tuned version of a model.
MODEL_PREFIX_TO_ENCODING = _by_model(_PREFIXES)


def encoding_name_for_model(model_name: str) -> str:
    """Return the name of a model's encoding, found by the model's full name or else by a prefix of it.

    An unknown model raises UnknownModelError, a KeyError.

    >>> encoding_name_for_model("gpt-4o-2024-05-13")
    'o200k_base'
    """
    check_text(model_name, "model_name")
    if model_name in MODEL_TO_ENCODING:
        return MODEL_TO_ENCODING[model_name]
    for prefix, encoding_name in MODEL_PREFIX_TO_ENCODING.items():
        if model_name.startswith(prefix):
            return encoding_name
    error = UnknownModelError(
        f"no encoding is known for model {model_name!r}{did_you_mean(model_name, MODEL_TO_ENCODING)}",
        "Name the encoding itself, such as o200k_base.",
    )
    error.name = model_name
    raise error


def is_model(name: str) -> bool:
    """Return whether an encoding is known for a model of this name."""
    try:
        return bool(encoding_name_for_model(name))
    except UnknownModelError:
        return False
