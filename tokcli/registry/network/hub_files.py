"""The Hugging Face hub as this machine knows it: names of repositories, and what the hub's own programs left here.

That is the hub's cache, the token, and settings, all of which are only read. The places are those of huggingface_hub:
HF_HUB_CACHE, HF_HOME, HF_TOKEN_PATH, XDG_CACHE_HOME.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tokcli.errors import InputError, VocabularyError
from tokcli.formats.limits import read_regular_file

# The files that a repository is asked for: those of the first row that it has completely.
TOKENIZER_FILES = (
    ("tokenizer.json",),
    ("tekken.json",),
    ("tokenizer.model",),
    ("spiece.model",),
    ("sentencepiece.bpe.model",),
    ("vocab.json", "merges.txt", "tokenizer_config.json"),
    ("vocab.json", "merges.txt"),
    ("tiktoken.model", "tokenizer_config.json"),
)
MAIN = "main"
# huggingface_hub's rules for names (utils/_validators.py)
_NAME = r"(?!\S*(?:--|\.\.))[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,94}[A-Za-z0-9_])?"
_ID = re.compile(rf"({_NAME}/{_NAME})(?:@([A-Za-z0-9_][A-Za-z0-9._/-]{{0,199}}))?")
_FILE_NAME = re.compile(r"\.(?:tiktoken|json|jsonl|model|gguf|txt|bpe|vocab)$", re.IGNORECASE)
_COMMIT = re.compile("[0-9a-f]{40}")


class HubId(NamedTuple):
    """A repository of the hub, and the branch, tag or commit that is meant."""

    repository: str
    revision: str = MAIN

    @property
    def is_commit(self) -> bool:
        """Return whether the revision is a commit, which never changes."""
        return is_commit(self.revision)


class HubFiles(NamedTuple):
    """The files of one row of TOKENIZER_FILES by their names, and what the hub said about them.

    `commit` is the commit that they belong to, and `etag` the tag of a single file's contents; both may be "".
    """

    files: dict[str, bytes]
    commit: str = ""
    etag: str = ""


def is_commit(text: str) -> bool:
    """Return whether a text is the hash of a commit: 40 lower-case hexadecimal digits."""
    return _COMMIT.fullmatch(text) is not None


def parse_id(text: str) -> HubId | None:
    """Return the repository that a text names; None if it does not look like one, or looks more like a path.

    >>> parse_id("openai-community/gpt2@607a30d"), parse_id("../gpt2"), parse_id("ranks/mine.tiktoken")
    (HubId(repository='openai-community/gpt2', revision='607a30d'), None, None)
    """
    match = _ID.fullmatch(text)
    if match is None or ".." in text or "//" in text or text.endswith("/"):
        return None
    if not match[2] and (_FILE_NAME.search(text) or os.path.lexists(text.partition("/")[0])):
        return None
    return HubId(match[1], match[2] or MAIN)


# --- what is on this machine ----------------------------------------------------------------------------------------

MAX_LINE_FILE_BYTES = 2**16  # the limit on a file with a token or a commit
_YES = ("1", "on", "yes", "true")  # what huggingface_hub takes for true


def is_set(variable: str) -> bool:
    """Return whether an environment variable is true as huggingface_hub reads it."""
    return _variable(variable).lower() in _YES


def _variable(name: str) -> str:
    return os.environ.get(name, "").strip()


def _home() -> Path:
    return _place(_variable("HF_HOME") or (os.environ.get("XDG_CACHE_HOME") or "~/.cache") + "/huggingface")


def _place(path: str) -> Path:
    """Return a path with `~` or `~USER` replaced by the home of that user; unchanged if there is no such user."""
    return Path(os.path.expanduser(path))  # noqa: PTH111 - pathlib raises RuntimeError for such a user


def files_in_hub_cache(wanted: HubId) -> dict[str, bytes] | None:
    """Return the files of a repository's tokenizer in the hub's own cache, by name; None if they are not there."""
    return {path.name: read_regular_file(path) for path in paths_in_hub_cache(wanted)} or None


def paths_in_hub_cache(wanted: HubId) -> list[Path]:
    """Return the paths of the files of a repository's tokenizer in the hub's own cache; none if they are not there."""
    snapshot = snapshot_in_hub_cache(wanted)
    if snapshot is not None:
        for row in TOKENIZER_FILES:
            if all(_is_file(snapshot / name) for name in row):
                return [snapshot / name for name in row]
    return []


def cached_names(wanted: HubId) -> list[str]:
    """Return the names of the files and folders of a repository in the hub's own cache; none if it is not there."""
    snapshot = snapshot_in_hub_cache(wanted)
    with suppress(OSError):
        return sorted(path.name for path in snapshot.iterdir()) if snapshot else []
    return []


def snapshot_in_hub_cache(wanted: HubId) -> Path | None:
    """Return the folder of a revision in the hub's own cache, which may not exist; None if it knows none such."""
    named = _variable("HF_HUB_CACHE") or _variable("HUGGINGFACE_HUB_CACHE")
    caches = _place(named) if named else _home() / "hub"
    folder = caches / ("models--" + wanted.repository.replace("/", "--"))
    commit = wanted.revision if wanted.is_commit else _line_in(folder / "refs" / wanted.revision)
    if commit is None or not is_commit(commit):
        return None
    return folder / "snapshots" / commit


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that is too long, a folder that nobody may enter
        return False


def _line_in(path: Path) -> str | None:
    """Return the text of a small file, without white space at its ends; None if it cannot be read."""
    try:
        return read_regular_file(path, MAX_LINE_FILE_BYTES).decode("ascii").strip()
    except (VocabularyError, UnicodeDecodeError):
        return None


def token_for_hub() -> str | None:
    """Return HF_TOKEN, or the token that `hf auth login` left; None if there is none, or none may be sent.

    InputError names the variable or the file that holds characters which no token has.
    """
    source = next(filter(_variable, ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")), "")
    given = _variable(source) if source else ""
    if not given and not is_set("HF_HUB_DISABLE_IMPLICIT_TOKEN"):
        named = _variable("HF_TOKEN_PATH")
        path = _place(named) if named else _home() / "token"
        source, given = str(path), _line_in(path) or ""
    if not re.fullmatch(r"[!-~]*", given):
        raise InputError(f"{source} holds no token: it contains a space or a character that is not printable ASCII")
    return given or None
