"""The chat templates that belong to what a user names: a file, a folder, or a Hugging Face repository."""

from __future__ import annotations

import os
from collections.abc import Callable

from tokcli.chat_templates.template import ChatTemplates
from tokcli.chat_templates.template_files import TEMPLATE_FILES, files_in, templates_at, templates_in
from tokcli.errors import OfflineError
from tokcli.registry.catalog import CATALOG
from tokcli.registry.network.hub import find_beside
from tokcli.registry.network.hub_files import files_in_hub_cache, parse_id, snapshot_in_hub_cache

NO_TEMPLATES = ChatTemplates({}, {}, knows_tokens=False)


def find_templates(spec: str, *, offline: bool = False, note: Callable[[str], None] | None = None) -> ChatTemplates:
    """Return the chat templates and special tokens of the encoding that `spec` names.

    `spec` is one that `resolve_encoding` has loaded. A registered encoding and a url have none. VocabularyError or
    NetworkError say what is wrong with the files, or why they cannot be fetched.
    """
    if spec in CATALOG or "://" in spec:
        return NO_TEMPLATES
    if os.path.lexists(spec):
        return templates_at(spec)
    wanted = parse_id(spec)
    if wanted is None:
        return NO_TEMPLATES
    found, snapshot = NO_TEMPLATES, snapshot_in_hub_cache(wanted)
    if snapshot is not None and files_in_hub_cache(wanted) is not None:
        found = templates_in(files_in(snapshot))
    if found.by_name:
        return found
    try:
        files = find_beside(wanted, TEMPLATE_FILES, offline=offline, note=note)
    except OfflineError:
        if found is NO_TEMPLATES:
            raise
        return found  # what the hub's own program has left here is all there is
    return templates_in({name: (f"{spec}/{name}", data) for name, data in files.items()})
