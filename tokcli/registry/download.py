"""Gets one file by https, within limits of time and size: `download` only with the right sha256, `ask` as it comes.

Nothing is written here; cache.py keeps what comes. requests is imported on the first download, not before.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urljoin, urlsplit, urlunsplit

from tokcli.errors import InputError, NetworkError
from tokcli.formats.limits import MAX_FILE_BYTES

if TYPE_CHECKING:
    import requests

# Called with the bytes so far and the bytes in all (None: not known), from the thread that downloads.
Progress = Callable[[int, "int | None"], None]

TIMEOUT_S = 120.0  # for a download as a whole, retries included; a slow line needs 30 s for the largest vocabulary
CONNECT_S = 10.0  # a server that does not answer by then will not
READ_S = 30.0  # between two pieces of data
RETRIES = 2
PAUSE_S = 0.25  # before the first retry; the second waits twice as long
MAX_REDIRECTS = 5  # object stores use one or two
_BLOCK = 2**14
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_WORTH_A_RETRY = frozenset({408, 429, 500, 502, 503, 504})


class _TryAgainError(Exception):
    """A failure that may pass."""


def timeout_from_environment() -> float:
    """Seconds that a download may take: TOKCLI_TIMEOUT, or 120; InputError where that is no positive number."""
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
    """Whether TOKCLI_OFFLINE forbids the network: any value does but the empty one, 0, false, no and off."""
    return os.environ.get("TOKCLI_OFFLINE", "").strip().lower() not in ("", "0", "false", "no", "off")


def download(
    url: str,
    sha256: str,
    *,
    limit: int = MAX_FILE_BYTES,
    timeout: float | None = None,
    progress: Progress | None = None,
) -> bytes:
    """The file at `url`, whose SHA-256 is `sha256` (hex), of at most `limit` bytes, in at most `timeout` seconds.

    Certificates are checked; proxies and REQUESTS_CA_BUNDLE count as requests has it; redirects may only lead to https.
    What may pass (no connection, a cut, 5xx) is tried up to twice again. NetworkError for all that goes wrong.
    """
    job = _Job(url, limit, timeout_from_environment() if timeout is None else timeout, progress, sha256)
    data: bytes = _finished(job).data
    return data


class Answer(NamedTuple):
    """What a server has to say about a url: `headers` of its first answer (names in lower case), and the file.

    `data` is None where the file was not wanted any more once the headers were there.
    """

    headers: Mapping[str, str]
    data: bytes | None


class RefusedError(NetworkError):
    """An answer that is no file: its `status`, and its headers (names in lower case)."""

    def __init__(self, what: str, status: int, headers: Mapping[str, str]) -> None:
        super().__init__(what)
        self.status, self.headers = status, headers


def ask(
    url: str,
    *,
    token: str | None = None,
    is_known: Callable[[Mapping[str, str]], bool] | None = None,
    limit: int = MAX_FILE_BYTES,
    progress: Progress | None = None,
) -> Answer:
    """The file at `url`, whatever it is; RefusedError for an answer that is none, NetworkError as `download`.

    `token` goes to this host and port only, whatever an answer redirects to. The file is not fetched where `is_known`
    says so of the first answer's headers. A url of this machine may be http.
    """
    job = _Job(url, limit, timeout_from_environment(), progress, token=token, is_known=is_known)
    job = _finished(job)
    return Answer(job.headers, job.data)


def is_loopback(url: str) -> bool:
    """Whether a url is of this machine, where nobody listens in.

    >>> is_loopback("http://127.0.0.1:8080/a"), is_loopback("http://127.0.0.1.example.org/a")
    (True, False)
    """
    host = urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or re.fullmatch(r"127(?:\.[0-9]{1,3}){3}", host) is not None


def _finished(job: _Job) -> _Job:
    """A job that has run; its error is raised, and NetworkError when it takes too long."""
    # In a thread of its own, because looking up a name or a server that sends a byte a second heed no time limit.
    thread = threading.Thread(target=job.run, name="tokcli-download", daemon=True)
    thread.start()
    try:
        thread.join(job.seconds)
    finally:
        job.cancelled.set()
    if job.error is not None:
        raise job.error
    if not job.is_done:
        raise job.too_slow()
    return job


def shown_url(url: str) -> str:
    """A url for messages: without a user's name and password, and without a query, which may hold a key.

    >>> shown_url("https://me:secret@host/a?key=1")
    'https://host/a'
    """
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


class _Job:
    """One download; `run` leaves either `data` (of `ask` also `headers`) or `error`."""

    def __init__(
        self,
        url: str,
        limit: int,
        seconds: float,
        progress: Progress | None,
        sha256: str | None = None,
        *,
        token: str | None = None,
        is_known: Callable[[Mapping[str, str]], bool] | None = None,
    ) -> None:
        self.url, self.sha256, self.limit, self.progress = url, sha256, limit, progress
        self.token, self.is_known = token, is_known
        self.headers: Mapping[str, str] = {}
        self.seconds, self.deadline = seconds, time.monotonic() + seconds
        self.shown = shown_url(url)
        self.cancelled = threading.Event()
        self.data: Any = None  # bytes, or None for a file that is known
        self.is_done = False
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self.data = self._with_retries()
            self.is_done = True
        except BaseException as error:  # noqa: BLE001 - it is raised again in the thread that waits
            self.error = error

    def _with_retries(self) -> bytes | None:
        import requests

        for attempt in range(RETRIES + 1):
            try:
                with requests.Session() as session:
                    return self._attempt(session)
            except _TryAgainError as error:
                reason = str(error)
            if attempt < RETRIES and self.cancelled.wait(min(PAUSE_S * 2**attempt, self._left())):
                break
        raise NetworkError(f"{self.shown}: {reason}", "Try again later, or use a file or an encoding that is here.")

    def too_slow(self) -> NetworkError:
        what = f"{self.shown}: not finished after {self.seconds:g} s"
        return NetworkError(what, "TOKCLI_TIMEOUT=SECONDS allows it more time.")

    def _left(self) -> float:
        """Seconds until the deadline; NetworkError when there are none."""
        left = self.deadline - time.monotonic()
        if left <= 0 or self.cancelled.is_set():
            raise self.too_slow()
        return left

    def _attempt(self, session: requests.Session) -> bytes | None:
        import requests
        import urllib3

        try:
            with self._open(session) as response:
                if self.is_known is not None and self.is_known(self.headers):
                    return None
                data = self._body(response)
        except requests.exceptions.SSLError as error:
            raise NetworkError(f"{self.shown}: its certificate is not trusted: {_reason(error)}") from None
        except (requests.exceptions.InvalidURL, requests.exceptions.InvalidSchema) as error:
            raise NetworkError(f"{self.shown}: not a url that can be used: {error}") from None
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
            if isinstance(error, NetworkError):
                raise
            raise _TryAgainError(_reason(error)) from None
        except ValueError as error:  # of urllib.parse
            raise NetworkError(f"{self.shown}: leads to what is no url: {error}") from None
        found = hashlib.sha256(data).hexdigest()
        if self.sha256 is not None and found != self.sha256:
            raise NetworkError(f"{self.shown}: its sha256 is {found}, expected {self.sha256}")
        return data

    def _open(self, session: requests.Session) -> requests.Response:
        """The answer that has the file, after redirects, which are followed one by one."""
        url = self.url
        for hop in range(MAX_REDIRECTS + 1):
            self._check_scheme(url)
            left = self._left()
            response = session.get(
                url,
                stream=True,
                allow_redirects=False,
                timeout=(min(CONNECT_S, left), min(READ_S, left)),
                headers={"Accept-Encoding": "identity", "User-Agent": "tokcli"},
                auth=self._authorization(url),
            )
            if hop == 0:
                self.headers = {name.lower(): value for name, value in response.headers.items()}
            is_known = self.is_known is not None and self.is_known(self.headers)
            if response.status_code == 200 or (is_known and response.status_code in _REDIRECTS):
                return response
            response.close()
            if response.status_code not in _REDIRECTS or not response.headers.get("Location"):
                what = f"the server answers {response.status_code} {response.reason}"
                if response.status_code in _WORTH_A_RETRY:
                    raise _TryAgainError(what)
                headers = {name.lower(): value for name, value in response.headers.items()}
                raise RefusedError(f"{self.shown}: {what}", response.status_code, headers)
            url = urljoin(url, response.headers["Location"])
        raise NetworkError(f"{self.shown}: more than {MAX_REDIRECTS} redirects")

    def _check_scheme(self, url: str) -> None:
        """NetworkError for what is not https, nor http on this machine for whoever asked for just that."""
        scheme, _, _ = _origin(url)
        is_here = self.sha256 is None and is_loopback(self.url) and is_loopback(url)
        if scheme != "https" and not (scheme == "http" and is_here):
            raise NetworkError(f"{self.shown}: leads to {shown_url(url)}, but only https is spoken")

    def _authorization(self, url: str) -> Callable[[requests.PreparedRequest], requests.PreparedRequest] | None:
        """What puts the token into a request to the host that it is for. (requests would read .netrc.)"""
        if self.sha256 is not None:
            return None
        token = self.token if _origin(url) == _origin(self.url) else None

        def authorize(request: requests.PreparedRequest) -> requests.PreparedRequest:
            if token is not None:
                request.headers["Authorization"] = f"Bearer {token}"
            return request

        return authorize

    def _body(self, response: requests.Response) -> bytes:
        """All of the answer's content, decoded; the limit holds for what is announced, sent and decoded."""
        announced = response.headers.get("Content-Length", "")
        total = int(announced) if announced.isascii() and announced.isdigit() and len(announced) < 19 else None
        if total is not None and total > self.limit:
            raise NetworkError(f"{self.shown}: {total} bytes, more than the {self.limit} that are read")
        encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
        if encoding not in ("identity", "", "gzip"):
            raise NetworkError(f"{self.shown}: sent in the encoding {encoding!r}, which was not asked for")
        received = 0

        def blocks() -> Iterator[bytes]:
            nonlocal received
            for block in response.raw.stream(_BLOCK, decode_content=False):
                received += len(block)
                self._left()
                yield block
                if self.progress is not None:
                    self.progress(received, total)

        data = self._joined(_gunzip(blocks(), self.limit) if encoding == "gzip" else blocks())
        if total is not None and received != total:  # old releases of urllib3 do not look
            raise _TryAgainError(f"the connection ended after {received} of {total} bytes")
        return data

    def _joined(self, blocks: Iterator[bytes]) -> bytes:
        parts, size = [], 0
        try:
            for block in blocks:
                size += len(block)
                if size > self.limit:
                    raise NetworkError(f"{self.shown}: more than the {self.limit} bytes that are read")
                parts.append(block)
        except zlib.error:
            raise _TryAgainError("the gzip data is damaged") from None
        return b"".join(parts)


def _origin(url: str) -> tuple[str, str, int | None]:
    """Scheme, host and port."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname or "", parts.port or {"https": 443, "http": 80}.get(parts.scheme)


def _gunzip(blocks: Iterator[bytes], limit: int) -> Iterator[bytes]:
    """The content of gzip data, block by block, so that a bomb is found out at `limit` and not in memory."""
    decoder = zlib.decompressobj(wbits=31)
    for block in blocks:
        rest = block
        while rest and not decoder.eof:
            yield decoder.decompress(rest, min(limit + 1, 2**20))
            rest = decoder.unconsumed_tail
    if not decoder.eof:
        raise zlib.error("cut short")


def _reason(error: BaseException) -> str:
    """Why a connection failed, without the names of classes and objects that urllib3 wraps it in.

    >>> _reason(ConnectionRefusedError(111, "Connection refused"))
    'connection refused'
    """
    import urllib3

    chain: list[BaseException] = []
    inner: object = error
    while isinstance(inner, BaseException) and inner not in chain:
        chain.append(inner)
        inner = next((part for part in _wrapped(inner) if isinstance(part, BaseException)), None)
    for found in reversed(chain):
        if text := getattr(found, "verify_message", None) or getattr(found, "strerror", None):
            return str(text).lower()
    if any(isinstance(found, (TimeoutError, urllib3.exceptions.TimeoutError)) for found in chain):
        return "no answer in time"
    return str(chain[-1]).lower()


def _wrapped(error: BaseException) -> tuple[object, ...]:
    """Where an exception may keep the one that it was made from."""
    return (getattr(error, "reason", None), *error.args, error.__cause__, error.__context__)
