"""Downloads one file within limits of time and size: `download` checks its SHA-256, `ask` returns it unchecked.

Nothing is written here (cache.py keeps what arrives), and requests is loaded by the first download (transfer.py).
"""

from __future__ import annotations

import math
import os
import threading

from tokcli.errors import InputError
from tokcli.formats.limits import MAX_FILE_BYTES
from tokcli.registry.network.answers import Answer, IsKnown, Progress, check_sha256
from tokcli.registry.network.urls import shown_url

TIMEOUT_S = 120.0  # for a download as a whole, retries included; a slow line needs 30 s for the largest vocabulary


def timeout_from_environment() -> float:
    """Return the seconds that a download may take: TOKCLI_TIMEOUT, or 120.

    InputError says that the variable is not a positive number.
    """
    text = os.environ.get("TOKCLI_TIMEOUT", "").strip()
    if not text:
        return TIMEOUT_S
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not (0 < seconds < threading.TIMEOUT_MAX):
        raise InputError(f"TOKCLI_TIMEOUT is {text!r}, not a positive number of seconds")
    return seconds


def is_offline() -> bool:
    """Return whether TOKCLI_OFFLINE forbids the network, as any value does but "", 0, false, no and off."""
    return os.environ.get("TOKCLI_OFFLINE", "").strip().lower() not in ("", "0", "false", "no", "off")


def download(
    url: str,
    sha256: str,
    *,
    limit: int = MAX_FILE_BYTES,
    timeout: float | None = None,
    progress: Progress | None = None,
) -> bytes:
    """Return the file at an https url if its SHA-256 is `sha256` (hex); raise ChecksumError if it is another."""
    data = ask(url, limit=limit, timeout=timeout, progress=progress, tls_only=True).data or b""
    check_sha256(data, sha256, shown_url(url))
    return data


def ask(
    url: str,
    *,
    token: str | None = None,
    is_known: IsKnown | None = None,
    limit: int = MAX_FILE_BYTES,
    timeout: float | None = None,
    progress: Progress | None = None,
    tls_only: bool = False,
) -> Answer:
    """Return the file of at most `limit` bytes at a url; raise RefusedError for an answer that is not a file.

    Certificates are checked; proxies and REQUESTS_CA_BUNDLE are used as requests does. Urls, redirects too, must be
    https; a url of this machine may be http, unless `tls_only`. `token` is sent to this scheme, host and port only,
    whatever an answer redirects to. If `is_known` returns true for the headers of the first answer, the file is not
    fetched. After a failure that may pass (no connection, a connection that is cut, status 5xx), up to two more
    attempts are made, all within `timeout` seconds. NetworkError says what went wrong.
    """
    from tokcli.registry.network.transfer import Transfer  # requests

    seconds = timeout_from_environment() if timeout is None else timeout
    transfer = Transfer(url, limit, seconds, progress, token=token, is_known=is_known, tls_only=tls_only)
    # In a thread of its own, since no time limit stops the lookup of a name, or a server that sends a byte a second.
    thread = threading.Thread(target=transfer.run, name="tokcli-download", daemon=True)
    thread.start()
    try:
        thread.join(seconds)
    finally:
        transfer.cancelled.set()
    if transfer.error is not None:
        raise transfer.error
    if transfer.answer is None:
        raise transfer.too_slow()
    return transfer.answer
