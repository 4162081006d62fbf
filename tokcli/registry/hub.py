"""Tokenizers by their Hugging Face id, `org/name` or `org/name@revision`: from the hub's cache, ours, or the hub.

A commit never changes, so what was fetched by its hash is never asked for again. A branch or tag (`main` where none is
named) is asked for again after a day; offline, or where the hub cannot be reached, what was fetched last is taken.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, urlsplit

from tokcli.errors import InputError, NetworkError, UnknownEncodingError, VocabularyError
from tokcli.formats.limits import read_regular_file
from tokcli.registry import cache
from tokcli.registry.download import Answer, RefusedError, ask, is_offline, shown_url, timeout_from_environment
from tokcli.registry.folders import private_dir

if TYPE_CHECKING:
    from tokcli.registry.download import Progress

# What a repository is asked for, in this order; of a pair both.
WANTED = (
    ("tokenizer.json",),
    ("tokenizer.model",),
    ("spiece.model",),
    ("sentencepiece.bpe.model",),
    ("vocab.json", "merges.txt"),
)
KEPT = "hub"  # the folder in the cache folder: a note per revision, and files under their sha256
ASK_AGAIN_S = 24 * 3600  # a branch of a tokenizer hardly ever moves, and asking takes every run 0.2 s
MAIN = "main"
DEFAULT_ENDPOINT = "https://huggingface.co"
MAX_NOTE_BYTES = 2**16  # of a token, a ref, or a note of ours
# huggingface_hub's rules for names (utils/_validators.py)
_NAME = r"(?!\S*(?:--|\.\.))[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,94}[A-Za-z0-9_])?"
_ID = re.compile(rf"({_NAME}/{_NAME})(?:@([A-Za-z0-9_][A-Za-z0-9._/-]{{0,199}}))?")
_FILE = re.compile(r"\.(?:tiktoken|json|jsonl|model|gguf|txt|bpe|vocab)$", re.IGNORECASE)
_COMMIT = re.compile("[0-9a-f]{40}")
_SHA256 = re.compile("[0-9a-f]{64}")
_YES = ("1", "on", "yes", "true")  # what huggingface_hub takes for true


class HubId(NamedTuple):
    """A repository and the branch, tag or commit that is meant."""

    repository: str
    revision: str = MAIN

    @property
    def folder(self) -> str:
        """What the hub's cache calls it."""
        return "models--" + self.repository.replace("/", "--")


class Found(NamedTuple):
    """The files of one row of WANTED, and the commit that they are of (empty: not said)."""

    files: dict[str, bytes]
    commit: str = ""
    etag: str = ""


def parse_id(text: str) -> HubId | None:
    """The repository that a text names; None where it does not look like one, or more like a path.

    >>> parse_id("openai-community/gpt2@607a30d"), parse_id("../gpt2"), parse_id("ranks/mine.tiktoken")
    (HubId(repository='openai-community/gpt2', revision='607a30d'), None, None)
    """
    match = _ID.fullmatch(text)
    if match is None or ".." in text or "//" in text or text.endswith("/"):
        return None
    if not match[2] and (_FILE.search(text) or os.path.lexists(text.partition("/")[0])):
        return None
    return HubId(match[1], match[2] or MAIN)


def find(
    wanted: HubId,
    *,
    offline: bool = False,
    note: Callable[[str], None] | None = None,
    progress: Progress | None = None,
) -> dict[str, bytes]:
    """The files of a repository that hold its tokenizer: name -> contents, one of the rows of WANTED.

    UnknownEncodingError where the hub has no such thing, NetworkError where it cannot or must not be asked.
    """
    if (files := _from_hub_cache(wanted)) is not None:
        return files
    may_ask = not (offline or is_offline() or _is_yes("HF_HUB_OFFLINE"))
    try:
        folder = Path(private_dir(KEPT))
    except OSError as error:
        if note is not None:
            note(f"the cache is not used: {error}")
        return _fetch(wanted, None, progress).files if may_ask else _missing(wanted)
    about = folder / (hashlib.sha256("\n".join([endpoint(), *wanted]).encode()).hexdigest() + ".json")
    kept, asked = _kept(about)
    if kept is not None and (
        not may_ask or _COMMIT.fullmatch(wanted.revision) or 0 <= time.time() - asked < ASK_AGAIN_S
    ):
        return kept.files
    if not may_ask:
        return _missing(wanted)
    with _locked(about):
        return _ask_again(wanted, about, note, progress)


def endpoint() -> str:
    """The hub: HF_ENDPOINT, or huggingface.co."""
    url = os.environ.get("HF_ENDPOINT", "").strip().rstrip("/") or DEFAULT_ENDPOINT
    parts = urlsplit(url)
    if parts.scheme not in ("https", "http") or not parts.netloc or parts.query or parts.fragment:
        raise InputError(f"HF_ENDPOINT is {shown_url(url)!r}, not the url of a server")
    return url


def _missing(wanted: HubId) -> dict[str, bytes]:
    raise NetworkError(
        f"{wanted.repository}: no such file, nor in the cache as a Hugging Face id, and the network may not be used",
        "Leave out --offline, TOKCLI_OFFLINE and HF_HUB_OFFLINE once, or name a file.",
    )


def _is_yes(variable: str) -> bool:
    return os.environ.get(variable, "").strip().lower() in _YES


# --- the hub's own cache ---------------------------------------------------------------------------------------------


def _home() -> Path:
    named = os.environ.get("HF_HOME", "").strip()
    return Path(named) if named else Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "huggingface").expanduser()


def _from_hub_cache(wanted: HubId) -> dict[str, bytes] | None:
    """The files in a snapshot of the hub's cache, which its own programs wrote; None where there are none."""
    named = os.environ.get("HF_HUB_CACHE", "").strip() or os.environ.get("HUGGINGFACE_HUB_CACHE", "").strip()
    folder = (Path(named).expanduser() if named else _home() / "hub") / wanted.folder
    commit: str | None = wanted.revision
    if not _COMMIT.fullmatch(wanted.revision):
        commit = _line_of(folder / "refs" / wanted.revision)
    if commit is None or not _COMMIT.fullmatch(commit):
        return None
    snapshot = folder / "snapshots" / commit
    for row in WANTED:
        if all((snapshot / name).is_file() for name in row):
            return {name: read_regular_file(snapshot / name) for name in row}
    return None


def _line_of(path: Path) -> str | None:
    """The text of a small file; None where it cannot be read."""
    try:
        return read_regular_file(path, MAX_NOTE_BYTES).decode("ascii").strip()
    except (VocabularyError, UnicodeDecodeError):
        return None


# --- our cache -------------------------------------------------------------------------------------------------------


def _kept(about: Path) -> tuple[Found | None, float]:
    """What was fetched, and when it was last asked for (seconds since 1970); None where it is not whole."""
    text = cache.read_own(about, MAX_NOTE_BYTES)
    try:
        table = json.loads(text or b"null")
        names = {str(name): str(digest) for name, digest in table["files"].items()}
        asked, commit, etag = float(table["asked"]), str(table["commit"]), str(table["etag"])
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None, 0
    if tuple(names) not in WANTED or not all(map(_SHA256.fullmatch, names.values())):
        return None, 0
    files = {name: cache.read_kept(about.with_name(digest), digest) for name, digest in names.items()}
    whole = {name: data for name, data in files.items() if data is not None}
    return (Found(whole, commit, etag) if len(whole) == len(names) else None), asked


def _keep(about: Path, found: Found, note: Callable[[str], None] | None) -> None:
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in found.files.items()}
    table = {"files": digests, "commit": found.commit, "etag": found.etag, "asked": time.time()}
    try:
        for name, data in found.files.items():
            if cache.read_kept(about.with_name(digests[name]), digests[name]) is None:
                cache.write_whole(about.with_name(digests[name]), data)
        cache.write_whole(about, json.dumps(table).encode())
    except OSError as error:
        if note is not None:
            note(f"{about.parent} keeps nothing: {(error.strerror or str(error)).lower()}")


@contextmanager
def _locked(about: Path) -> Iterator[None]:
    """Alone with a revision, among processes, or as good as that: some file systems have no locks."""
    import filelock

    lock = filelock.FileLock(about.with_suffix(".lock"), mode=0o600)
    with suppress(OSError, NotImplementedError):  # filelock.Timeout is an OSError
        lock.acquire(timeout=timeout_from_environment())
    try:
        yield
    finally:
        lock.release()


def _ask_again(
    wanted: HubId, about: Path, note: Callable[[str], None] | None, progress: Progress | None
) -> dict[str, bytes]:
    kept, asked = _kept(about)  # by another process, while this one waited
    if kept is not None and 0 <= time.time() - asked < ASK_AGAIN_S:
        return kept.files
    try:
        found = _fetch(wanted, kept, progress)
    except NetworkError as error:
        if kept is None or isinstance(error, RefusedError):
            raise
        if note is not None:
            note(f"{error}; what was fetched before is used.")
        return kept.files
    _keep(about, found, note)
    return found.files


# --- the hub ---------------------------------------------------------------------------------------------------------


def _fetch(wanted: HubId, kept: Found | None, progress: Progress | None) -> Found:
    """The first row of WANTED that there is, all files of one commit; `kept` itself where it is still that."""
    token = _token()

    def is_known(headers: Mapping[str, str]) -> bool:
        return kept is not None and (
            (bool(kept.commit) and headers.get("x-repo-commit") == kept.commit)
            or (len(kept.files) == 1 and bool(kept.etag) and _etag(headers) == kept.etag)
        )

    for row in WANTED:
        files: dict[str, bytes] = {}
        first: Answer | None = None
        revision = wanted.revision
        for name in row:
            same_row = kept is not None and tuple(kept.files) == row
            answer = _ask(wanted, revision, name, token, is_known if same_row and not files else None, progress)
            if answer is None:
                break
            first = first or answer
            if answer.data is None and kept is not None:
                return kept._replace(commit=_commit(answer) or kept.commit)
            files[name] = answer.data or b""
            revision = _commit(answer) or revision
        if first is not None and len(files) == len(row):
            return Found(files, _commit(first), _etag(first.headers))
    names = ", ".join(" with ".join(row) for row in WANTED)
    raise UnknownEncodingError(
        f"{wanted.repository}: no such file, and {_host()} has none of {names} there",
        "Is it a file? Then look at its name. Else it takes a repository with a tokenizer, as org/name@revision.",
    )


def _ask(
    wanted: HubId,
    revision: str,
    name: str,
    token: str | None,
    is_known: Callable[[Mapping[str, str]], bool] | None,
    progress: Progress | None,
) -> Answer | None:
    """One file; None where the repository has none of this name."""
    url = f"{endpoint()}/{wanted.repository}/resolve/{quote(revision, safe='')}/{name}"
    try:
        answer = ask(url, token=token, is_known=is_known, progress=progress)
    except RefusedError as error:
        if error.status == 404 and error.headers.get("x-error-code", "EntryNotFound") == "EntryNotFound":
            return None
        raise _explained(wanted, error, has_token=token is not None) from None
    digest = _etag(answer.headers)
    if answer.data is not None and _SHA256.fullmatch(digest) and hashlib.sha256(answer.data).hexdigest() != digest:
        raise NetworkError(f"{shown_url(url)}: its sha256 is not {digest}, which the hub says it is")
    return answer


def _explained(wanted: HubId, error: RefusedError, *, has_token: bool) -> NetworkError:
    """What an answer of the hub means, and what to do."""
    page = f"{shown_url(endpoint())}/{wanted.repository}"
    code = error.headers.get("x-error-code", "")
    get_token = f"a token of yours ({shown_url(endpoint())}/settings/tokens) in HF_TOKEN"
    if code == "RevisionNotFound":
        what, hint = f"no revision {wanted.revision!r}", "Name a branch, a tag or a commit, as org/name@revision."
    elif code == "GatedRepo":
        what, hint = "it is gated", f"Accept its terms at {page}, and put {get_token}."
    elif code == "RepoNotFound" or error.status == 404:
        what = "no such file, and no such repository" + ("" if has_token else ", or a private one")
        hint = "Look at the name." if has_token else f"Look at the name; for a private one put {get_token}."
    elif error.status in (401, 403):
        what = f"access is refused ({error.status})"
        hint = f"The token that was sent (HF_TOKEN, or the one you logged in with) does not fit: {page}"
        if not has_token:
            hint = f"It may be gated or private, or not exist: {page}. Put {get_token}."
    else:
        return error
    explained = RefusedError(f"{wanted.repository}: {what} on {_host()}", error.status, error.headers)
    explained.hint = hint
    return explained


def _host() -> str:
    return urlsplit(endpoint()).hostname or ""


def _commit(answer: Answer) -> str:
    commit = answer.headers.get("x-repo-commit", "")
    return commit if _COMMIT.fullmatch(commit) else ""


def _etag(headers: Mapping[str, str]) -> str:
    """The name of a file's contents: of large files, which are elsewhere, their sha256."""
    return (headers.get("x-linked-etag") or headers.get("etag", "")).removeprefix("W/").strip('"')[:128]


def _token() -> str | None:
    """HF_TOKEN, or the one that `hf auth login` left; None where there is none, or none shall be sent."""
    given = os.environ.get("HF_TOKEN", "").strip() or os.environ.get("HUGGING_FACE_HUB_TOKEN", "").strip()
    if not given and not _is_yes("HF_HUB_DISABLE_IMPLICIT_TOKEN"):
        path = os.environ.get("HF_TOKEN_PATH", "").strip()
        given = _line_of(Path(path).expanduser() if path else _home() / "token") or ""
    if not re.fullmatch(r"[!-~]*", given):
        raise InputError("HF_TOKEN is not a token: it has characters beside those of ASCII, or a space")
    return given or None
