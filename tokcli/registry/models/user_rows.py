"""The models that users add: TOKCLI_MODELS names a JSON file, `{"NAME": "TOKENIZER"}`, whose names come first.

In place of "TOKENIZER", `{"tokenizer": "...", "window": N}` says how many tokens the context window holds, too. A path
is one from the folder of the file. The file is not trusted: what is wrong with it is refused, and names the place.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache

from tokcli.formats.limits import read_regular_file
from tokcli.formats.strict_json import JsonNode, parse_json_strictly
from tokcli.registry.catalog import CATALOG
from tokcli.registry.models.spelling import normal_form
from tokcli.registry.models.table import ModelRow, table
from tokcli.registry.network.hub_files import parse_id

GROUP = "TOKCLI_MODELS"
MAX_BYTES = 1 << 20
MAX_NAME = 200  # characters
MAX_WINDOW = 1 << 40
MEMBERS = ("tokenizer", "window")


@lru_cache(maxsize=8)
def read_models(path: str) -> Mapping[str, tuple[str, ModelRow]]:
    """Return the models of a file by the normal form of their names; VocabularyError says what is wrong, and where."""
    document = JsonNode(parse_json_strictly(read_regular_file(path, MAX_BYTES), path), path)
    models: dict[str, tuple[str, ModelRow]] = {}
    for name, node in document.items():
        if not (form := normal_form(name.strip())) or len(name) > MAX_NAME or "/" in name:
            node.fail(f"the name of a model has 1 to {MAX_NAME} characters and no /")
        if form in models:
            node.fail(f"this is another spelling of {models[form][0]!r}")
        models[form] = (name, _row(name, node, path))
    return models


def _row(name: str, node: JsonNode, path: str) -> ModelRow:
    tokenizer, window = node, None
    if isinstance(node.value, dict):
        if more := next((member for member in node.value if member not in MEMBERS), None):
            node.member(more).fail(f"unknown member; there are {' and '.join(MEMBERS)}")
        tokenizer = node.member("tokenizer")
        window = node.member("window").whole(1, MAX_WINDOW) if "window" in node.value else None
    return ModelRow(GROUP, (name,), _tokenizer(tokenizer, path), window, path, "")


def _tokenizer(node: JsonNode, path: str) -> str:
    """Return a tokenizer as it is named: an encoding, one that the table knows, a file or folder, or a repository."""
    named = node.text()
    if named in CATALOG or named in table().repositories:
        return named
    file = os.path.join(os.path.dirname(path), os.path.expanduser(named))
    if named and "\0" not in named and os.path.exists(file):
        return os.path.join(os.curdir, file)
    if parse_id(named) is None:
        node.fail(
            f"{named[:MAX_NAME]!r} is neither an encoding nor a file in {os.path.dirname(path) or '.'} nor org/name"
        )
    return named
