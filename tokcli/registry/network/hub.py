"""Tokenizers by their Hugging Face id, `org/name` or `org/name@revision`: from the hub's cache, ours, or the hub.

A commit never changes, so what was fetched by its hash is never asked for again. A branch or tag (`main` where none is
named) is asked for again after a day; offline, or where the hub cannot be reached, what was fetched last is used.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from tokcli.atomic import locked, replace_file
from tokcli.errors import NetworkError, OfflineError, TokcliError, UnknownEncodingError, reason_of
from tokcli.registry.folders import cache_dir, private_dir
from tokcli.registry.network.answers import Progress, RefusedError
from tokcli.registry.network.cache import read_kept, read_own
from tokcli.registry.network.download import is_offline, timeout_from_environment
from tokcli.registry.network.hub_files import (
    TOKENIZER_FILES,
    HubFiles,
    HubId,
    cached_names,
    files_in_hub_cache,
    is_set,
    paths_in_hub_cache,
)
from tokcli.registry.network.hub_server import endpoint, fetch_beside, fetch_tokenizer

FOLDER = "hub"  # in the cache folder: a record for each revision (JSON), and the files under their SHA-256
ASK_AGAIN_S = 24 * 3600  # a branch of a tokenizer hardly ever moves, and asking costs every run 0.2 s
MAX_RECORD_BYTES = 2**16
SHOWN_FILES = 4  # of a repository, in a message
_SHA256 = re.compile("[0-9a-f]{64}")


def find_tokenizer(
    wanted: HubId,
    *,
    offline: bool = False,
    note: Callable[[str], None] | None = None,
    progress: Progress | None = None,
) -> dict[str, bytes]:
    """Return the files of a repository that hold its tokenizer, by name: one of the rows of TOKENIZER_FILES.

    A repository without a tokenizer raises UnknownEncodingError; a hub that cannot be asked, or must not be (`offline`,
    TOKCLI_OFFLINE, HF_HUB_OFFLINE), raises NetworkError. `note` is told why the cache is not used.
    """
    if (files := files_in_hub_cache(wanted)) is not None:
        return files
    may_ask = not (offline or is_offline() or is_set("HF_HUB_OFFLINE"))
    try:
        folder = Path(private_dir(FOLDER))
    except OSError as error:
        if note is not None:
            note(f"the cache is not used: {error}")
        if not may_ask:
            raise _offline(wanted) from None
        return fetch_tokenizer(wanted, None, progress).files
    record = folder / _record_of(wanted)
    kept, asked = _read_kept_files(record, _is_row)
    if kept is not None and (not may_ask or wanted.is_commit or 0 <= time.time() - asked < ASK_AGAIN_S):
        return kept.files
    if not may_ask:
        raise _offline(wanted)
    with locked(os.fspath(record.with_suffix(".lock")), timeout_from_environment()):
        return _ask_again(wanted, record, note, progress)


def find_beside(
    wanted: HubId, names: Sequence[str], *, offline: bool = False, note: Callable[[str], None] | None = None
) -> dict[str, bytes]:
    """Return those of the files `names` that a repository has, by name, of the commit of its tokenizer.

    They are kept, and asked for again, as the tokenizer is. NetworkError says that the hub cannot be asked.
    """
    may_ask = not (offline or is_offline() or is_set("HF_HUB_OFFLINE"))
    try:
        folder = Path(private_dir(FOLDER))
    except OSError:  # `find_tokenizer` has told it
        if not may_ask:
            raise _template_offline(wanted) from None
        return fetch_beside(wanted, names).files
    tokenizer, _ = _read_kept_files(folder / _record_of(wanted), _is_row)
    if tokenizer is not None and tokenizer.commit:
        wanted = wanted._replace(revision=tokenizer.commit)
    record = folder / _record_of(wanted, *names)
    kept, asked = _read_kept_files(record, lambda found: set(found) <= set(names))
    if kept is not None and (not may_ask or wanted.is_commit or 0 <= time.time() - asked < ASK_AGAIN_S):
        return kept.files
    if not may_ask:
        raise _template_offline(wanted)
    found = fetch_beside(wanted, names)
    _keep_files(record, found, note)
    return found.files


def is_kept(wanted: HubId) -> bool:
    """Return whether the hub's own cache, or ours, has a repository's tokenizer, so that nothing is downloaded."""
    return bool(paths_in_hub_cache(wanted)) or Path(cache_dir(), FOLDER, _record_of(wanted)).exists()


def forget(wanted: HubId) -> None:
    """Forget what the hub sent, so that it is asked again: that was not a tokenizer but, perhaps, an error page."""
    with suppress(OSError):
        (Path(private_dir(FOLDER)) / _record_of(wanted)).unlink()


def _record_of(wanted: HubId, *names: str) -> str:
    return hashlib.sha256("\n".join([endpoint(), *wanted, *names]).encode()).hexdigest() + ".json"


def _offline(wanted: HubId) -> TokcliError:
    """Return the error for a tokenizer that no cache has; the hub's own may have the repository without it."""
    found = cached_names(wanted)
    if found:
        names = ", ".join(found[:SHOWN_FILES]) + ", ..." * (len(found) > SHOWN_FILES)
        return UnknownEncodingError(
            f"{wanted.repository}: the cache has this repository without a tokenizer (it has {names}), "
            "and the network may not be used",
            "Run once without offline mode (TOKCLI_OFFLINE, HF_HUB_OFFLINE), or name one that has a tokenizer.",
        )
    return OfflineError(
        f"{wanted.repository}: no such file, no such repository in the cache, and the network may not be used",
        "Run once without offline mode (TOKCLI_OFFLINE, HF_HUB_OFFLINE), or name a file.",
    )


def _template_offline(wanted: HubId) -> OfflineError:
    return OfflineError(
        f"{wanted.repository}: its chat template is not in the cache, and the network may not be used",
        "Run once without offline mode (TOKCLI_OFFLINE, HF_HUB_OFFLINE), or name a file with --chat-template.",
    )


def _ask_again(
    wanted: HubId, record: Path, note: Callable[[str], None] | None, progress: Progress | None
) -> dict[str, bytes]:
    """Ask the hub for a tokenizer, and keep and return its files; if the hub cannot be reached, return those kept."""
    kept, asked = _read_kept_files(
        record, TOKENIZER_FILES.__contains__
    )  # another process may have asked while this one waited for the lock
    if kept is not None and 0 <= time.time() - asked < ASK_AGAIN_S:
        return kept.files
    try:
        found = fetch_tokenizer(wanted, kept, progress)
    except NetworkError as error:
        if kept is None or isinstance(error, RefusedError):
            raise
        if note is not None:
            note(f"{error}; the files that were fetched before are used.")
        return kept.files
    _keep_files(record, found, note)
    return found.files


def _read_kept_files(record: Path, is_whole: Callable[[tuple[str, ...]], bool]) -> tuple[HubFiles | None, float]:
    """Return what was fetched of a revision, and when the hub was last asked (seconds since 1970).

    The former is None if the record is missing, `is_whole` does not accept its names, or a file is not as fetched.
    """
    text = read_own(record, MAX_RECORD_BYTES)
    try:
        table = json.loads(text or b"null")
        names = {str(name): str(digest) for name, digest in table["files"].items()}
        asked, commit, etag = float(table["asked"]), str(table["commit"]), str(table["etag"])
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError):
        return None, 0
    if not is_whole(tuple(names)) or not all(map(_SHA256.fullmatch, names.values())):
        return None, 0
    files = {name: read_kept(record.with_name(digest), digest) for name, digest in names.items()}
    whole = {name: data for name, data in files.items() if data is not None}
    return (HubFiles(whole, commit, etag) if len(whole) == len(names) else None), asked


def _is_row(names: tuple[str, ...]) -> bool:
    return names in TOKENIZER_FILES


def _keep_files(record: Path, found: HubFiles, note: Callable[[str], None] | None) -> None:
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in found.files.items()}
    table = {"files": digests, "commit": found.commit, "etag": found.etag, "asked": time.time()}
    try:
        for name, data in found.files.items():
            path = record.with_name(digests[name])
            if read_kept(path, digests[name]) is None:
                replace_file(os.fspath(path), data)
        replace_file(os.fspath(record), json.dumps(table).encode())
    except OSError as error:
        if note is not None:
            note(f"{record.parent}: nothing can be kept there: {reason_of(error)}")
