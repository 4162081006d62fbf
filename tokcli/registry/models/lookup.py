"""Which tokenizer a model has, by any spelling of its name; what is not known, or not public, is refused.

OpenAI's models are as tiktoken has them (registry/model_names.py), all others and all windows as the table has them. A
name that is not in the table is never answered by its nearest.
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple, NoReturn

from tokcli.errors import MAX_QUOTED, InputError, UnknownModelError, did_you_mean
from tokcli.registry.catalog import CATALOG
from tokcli.registry.model_names import MODEL_PREFIX_TO_ENCODING, MODEL_TO_ENCODING
from tokcli.registry.models.spelling import normal_form, readings, served_names
from tokcli.registry.models.table import CLOSED, REPOSITORY, ModelRow, table, users_table

OPENAI = ("openai", "azure")  # before the / of a name that tiktoken's prefixes are for
SHORT = {"ada", "babbage", "curie", "davinci"}  # of OpenAI's first models; azure/ada is another
MAX_NAME = 300  # characters; to read all that may be left out of a name takes time that grows with their square
LEAST_WORD = 4  # characters of a word that is looked for inside of names
LIST = "List models with tokcli inspect-ranks --models"


class FoundModel(NamedTuple):
    """The facts on a model that was named: its tokenizer, and its row; or a prefix of tiktoken's, if no more."""

    tokenizer: str
    row: ModelRow | None
    prefix: str = ""


def find_model(name: str) -> FoundModel | None:
    """Return what is known about a model; None if nothing is.

    >>> find_model("GPT-4o").tokenizer, find_model("gpt-4o-foo").prefix, find_model("gpt-4oo")
    ('o200k_base', 'gpt-4o-', None)
    """
    if len(name) > MAX_NAME:
        return None
    forms = list(readings(name))
    if "/" in name and not SHORT.isdisjoint(forms):
        return None
    for known in (users_table(), table()):
        for form in forms:
            if (found := known.find(form)) is not None:
                return FoundModel(found.tokenizer, found.row)
    bare = served_names(name)[0]
    if bare in MODEL_TO_ENCODING:
        return FoundModel(MODEL_TO_ENCODING[bare], None)
    if name.rpartition("/")[0].partition("/")[0].lower() in ("", *OPENAI):
        for prefix, encoding in MODEL_PREFIX_TO_ENCODING.items():
            if bare.startswith(prefix):
                return FoundModel(encoding, None, prefix)
    return None


def tokenizer_for_model(name: str) -> tuple[str, str]:
    """Return the encoding, repository or file that has a model's tokenizer, and a note about it, or "".

    Case, separators and whoever serves the model do not count (`openai/gpt-4o`, `Qwen3_8B:free`). Raise
    UnknownModelError if the model is not known, or its tokenizer is not public.

    >>> tokenizer_for_model("gpt-4o"), tokenizer_for_model("llama3.1:8b")[0]
    (('o200k_base', ''), 'meta-llama/Llama-3.1-8B')
    """
    found = find_model(name)
    if found is None:
        _refuse_unknown(name)
    if found.row is not None and found.row.is_closed:
        more = "; `tokcli count` estimates with --estimate" if found.tokenizer != CLOSED else ""
        refuse(
            name,
            f"{name[:MAX_QUOTED]}: its tokenizer is not public",
            f"Name another encoding, such as -e o200k_base{more}.",
        )
    if found.prefix:
        return found.tokenizer, (
            f"{name[:MAX_QUOTED]} is not a model that is known here: {found.tokenizer} is what tiktoken has for all "
            f"names that begin with {found.prefix}"
        )
    place = place_of(found.tokenizer)
    return place, "" if place in CATALOG else f"{name[:MAX_QUOTED]}: the tokenizer of {place}"


def place_of(tokenizer: str) -> str:
    """Return where a tokenizer of the table is: a registered encoding, or a repository or file.

    >>> place_of("o200k_base"), place_of("qwen3")
    ('o200k_base', 'Qwen/Qwen3-8B')
    """
    return tokenizer if tokenizer in CATALOG else table().repositories.get(tokenizer, tokenizer)


def all_rows() -> list[ModelRow]:
    """Return the rows of all models that are known: of the user's, of the table, and tiktoken's names beside it."""
    known = table()
    rest = [name for name in MODEL_TO_ENCODING if known.find(normal_form(name)) is None]
    others = [ModelRow("OpenAI", (name,), MODEL_TO_ENCODING[name], None, "tiktoken 0.14", "2026-08") for name in rest]
    return [*users_table().rows, *known.rows, *others]


def model_names() -> list[str]:
    """Return the names of all models that are known, as people write them: for completion, and to suggest.

    >>> {"gpt-4o", "qwen3-8b", "llama3.1:8b"} <= {*model_names()}
    True
    """
    names = [model.name for known in (users_table(), table()) for model in known.models().values()]
    return list(dict.fromkeys([*MODEL_TO_ENCODING, *(name for name in names if not name.endswith("-DATE"))]))


def window_of_model(name: str) -> int:
    """Return how many tokens the context window of a model holds; raise InputError if that is not known.

    >>> window_of_model("gpt-4o"), window_of_model("Llama-3.1-70B-Instruct")
    (128000, 131072)
    """
    found = find_model(name)
    if found is not None and found.row is not None and found.row.window is not None:
        return found.row.window
    raise InputError(
        f"the context window of model {name[:MAX_QUOTED]!r} is not known"
        + ("" if found else did_you_mean(name.lower(), model_names())),
        "Say how many tokens it holds with --window N.",
    )


def names_a_model(name: str) -> bool:
    """Return whether a name is that of a model that is known, whether its tokenizer is public or not."""
    found = find_model(name)
    return found is not None and not found.prefix


def stands_for_a_model(name: str) -> bool:
    """Return whether a name where encodings and models may be named is a model's, and no encoding, file or repository.

    >>> [stands_for_a_model(name) for name in ("qwen3:8b", "openai/gpt-4o", "Qwen/Qwen3-8B", "o200k_base", "gpt-4oo")]
    [True, True, False, False, False]
    """
    if name in CATALOG or "\0" in name or os.path.lexists(name):
        return False
    found = find_model(name)
    if found is None or found.prefix:
        return False
    is_closed = found.row is not None and found.row.is_closed
    return "/" not in name or is_closed or place_of(found.tokenizer) in CATALOG


def named_as(name: str) -> dict[str, str | None]:
    """Return the options -e and -m as if one of them had named an encoding or a model; see `stands_for_a_model`."""
    return {"encoding": None, "model": name} if stands_for_a_model(name) else {"encoding": name, "model": None}


def _refuse_unknown(name: str) -> NoReturn:
    shown = f"no encoding is known for model {name[:MAX_QUOTED]!r}"
    if "," in name:
        each = " ".join(f"-m {one.strip()}" for one in name.split(","))
        refuse(name, shown, f"Give each name its own -m, in `tokcli count`: {each[:MAX_QUOTED]}.")
    bare = served_names(name[:MAX_NAME])[0]
    near = did_you_mean(bare, model_names()) or _names_with(bare)
    hint = f"{LIST}, or name the encoding itself with -e."
    if re.fullmatch(REPOSITORY, name):
        hint = f"{LIST}; if it is a repository of the Hugging Face Hub, read its tokenizer with -e {name[:MAX_QUOTED]}."
    refuse(name, shown + near, hint)


def _names_with(word: str) -> str:
    """Return the end of a message that names the three shortest names that contain a word, such as `sonnet`."""
    found = [name for name in model_names() if word in name] if len(word) >= LEAST_WORD else []
    return did_you_mean(word, sorted(found, key=len)[:3], cutoff=0)


def refuse(name: str, what: str, hint: str) -> NoReturn:
    """Raise UnknownModelError for a model."""
    error = UnknownModelError(what, hint)
    error.name = name
    raise error
