"""Asks the Hugging Face hub for the files of a tokenizer, and says what its refusals mean."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from urllib.parse import quote

from tokcli.errors import InputError, NetworkError, UnknownEncodingError
from tokcli.registry.network.answers import Answer, IsKnown, Progress, RefusedError
from tokcli.registry.network.download import ask
from tokcli.registry.network.hub_files import TOKENIZER_FILES, HubFiles, HubId, is_commit, token_for_hub
from tokcli.registry.network.urls import origin, shown_url

DEFAULT_ENDPOINT = "https://huggingface.co"
_SHA256 = re.compile("[0-9a-f]{64}")
_MAX_ETAG = 128  # characters


def endpoint() -> str:
    """Return the url of the hub: HF_ENDPOINT, or huggingface.co; raise InputError if HF_ENDPOINT is not a server's."""
    url = os.environ.get("HF_ENDPOINT", "").strip().rstrip("/") or DEFAULT_ENDPOINT
    try:
        origin(url)
        if "?" in url or "#" in url:
            raise ValueError("a url with a query or a fragment")
    except ValueError as error:
        raise InputError(f"HF_ENDPOINT is {shown_url(url)!r}, not the url of a server: {error}") from None
    return url


def fetch_tokenizer(wanted: HubId, kept: HubFiles | None, progress: Progress | None) -> HubFiles:
    """Return the first row of TOKENIZER_FILES that a repository has, all files of one commit.

    `kept` is what was fetched before; it is returned if the hub says that it has not changed. A repository without a
    tokenizer raises UnknownEncodingError, any other refusal RefusedError, and no usable answer NetworkError.
    """
    token = token_for_hub()

    def is_known(headers: Mapping[str, str]) -> bool:
        return kept is not None and (
            (bool(kept.commit) and headers.get("x-repo-commit") == kept.commit)
            or (len(kept.files) == 1 and bool(kept.etag) and _etag(headers) == kept.etag)
        )

    answers: dict[str, Answer | None] = {}  # of files that two rows have in common
    for row in TOKENIZER_FILES:
        files: dict[str, bytes] = {}
        first: Answer | None = None
        revision = wanted.revision
        for name in row:
            same_row = kept is not None and tuple(kept.files) == row
            if name not in answers:
                known = is_known if same_row and not files else None
                answers[name] = _ask_for(wanted, revision, name, token, known, progress)
            answer = answers[name]
            if answer is None:
                break
            first = first or answer
            if answer.data is None and kept is not None:
                return kept._replace(commit=_commit(answer) or kept.commit)
            files[name] = answer.data or b""
            revision = _commit(answer) or revision
        if first is not None and len(files) == len(row):
            return HubFiles(files, _commit(first), _etag(first.headers))
    names = ", ".join(dict.fromkeys(" with ".join(row[:2]) for row in TOKENIZER_FILES))
    raise UnknownEncodingError(
        f"{wanted.repository}: no such file, and that repository on {_host()} has none of {names}",
        "Check the name of the file, or name a repository that has a tokenizer, as org/name@revision.",
    )


def fetch_beside(wanted: HubId, names: Iterable[str]) -> HubFiles:
    """Return those of the files `names` that a repository has, which may be none."""
    token = token_for_hub()
    answers = {name: _ask_for(wanted, wanted.revision, name, token, None, None) for name in names}
    files = {name: answer.data or b"" for name, answer in answers.items() if answer is not None}
    return HubFiles(files, next((_commit(answer) for answer in answers.values() if answer is not None), ""))


def _ask_for(
    wanted: HubId, revision: str, name: str, token: str | None, is_known: IsKnown | None, progress: Progress | None
) -> Answer | None:
    """Return the hub's answer for one file; None if the repository has no file of this name."""
    url = f"{endpoint()}/{wanted.repository}/resolve/{quote(revision, safe='')}/{name}"
    try:
        answer = ask(url, token=token, is_known=is_known, progress=progress)
    except RefusedError as error:
        if error.status == 404 and error.headers.get("x-error-code", "EntryNotFound") == "EntryNotFound":
            return None
        raise _explained(wanted, error, has_token=token is not None) from None
    digest = _etag(answer.headers)
    if answer.data is not None and _SHA256.fullmatch(digest) and hashlib.sha256(answer.data).hexdigest() != digest:
        raise NetworkError(f"{shown_url(url)}: its SHA-256 is not {digest}, as the hub says")
    return answer


def _explained(wanted: HubId, error: RefusedError, *, has_token: bool) -> NetworkError:
    """Return the error that says what a refusal of the hub means, and what to do."""
    page = f"{shown_url(endpoint())}/{wanted.repository}"
    code = error.headers.get("x-error-code", "")
    set_token = f"set HF_TOKEN to one of your tokens ({shown_url(endpoint())}/settings/tokens)"
    if code == "RevisionNotFound":
        what, hint = f"no revision {wanted.revision!r}", "Name a branch, a tag or a commit, as org/name@revision."
    elif code == "GatedRepo":
        what, hint = "the repository is gated", f"Accept its terms at {page}, and {set_token}."
    elif code == "RepoNotFound" or error.status == 404:
        what = "no such file, and no such repository" + ("" if has_token else ", or a private one")
        hint = "Check the name." if has_token else f"Check the name; for a private repository {set_token}."
    elif error.status in (401, 403):
        what = f"access denied (status {error.status})"
        hint = f"The token that was sent (HF_TOKEN, or that of `hf auth login`) gives no access to {page}."
        if not has_token:
            hint = f"The repository may be gated, private or missing: see {page}, and {set_token}."
    else:
        return error
    return RefusedError(f"{wanted.repository}: {what} on {_host()}", error.status, error.headers, hint)


def _host() -> str:
    return origin(endpoint()).host


def _commit(answer: Answer) -> str:
    commit = answer.headers.get("x-repo-commit", "")
    return commit if is_commit(commit) else ""


def _etag(headers: Mapping[str, str]) -> str:
    """Return the tag of a file's contents; for a large file, which is on another server, it is the SHA-256."""
    return (headers.get("x-linked-etag") or headers.get("etag", "")).removeprefix("W/").strip('"')[:_MAX_ETAG]
