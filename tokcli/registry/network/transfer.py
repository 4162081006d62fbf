"""`Transfer`: one file by https, with requests; redirects are followed here, so that each hop is checked.

download.py runs it in a thread of its own and limits its time.
"""

from __future__ import annotations

import http.client
import os
import re
import ssl
import stat
import threading
import time
import zlib
from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path
from urllib.parse import urljoin

import requests
import urllib3

from tokcli.errors import NetworkError, reason_of
from tokcli.registry.network.answers import Answer, IsKnown, Progress, RefusedError
from tokcli.registry.network.urls import check_characters, origin, shown_url

CONNECT_S = 10.0  # a server that does not answer by then will not
READ_S = 30.0  # between two blocks of data
RETRIES = 2
PAUSE_S = 0.25  # before the first retry; the second waits twice as long
MAX_REDIRECTS = 5  # object stores use one or two
_BLOCK_BYTES = 2**14
_UNPACKED_BYTES = 2**20  # the most that one block of gzip data becomes at once
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_WORTH_A_RETRY = frozenset({408, 429, 500, 502, 503, 504})
_CONTENT_LENGTH_DIGITS = 18  # no file has a length of more digits
_NO_PROXY = {"http": ""}  # http is for this machine only, so it must not pass through another one
_SHOWN = 80  # characters of what a server says in a message
_BUNDLES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")  # the variables that requests reads, the first one first
_TUNNEL = re.compile("tunnel connection failed: (?=([0-9]{3}))")  # how http.client reports the answer of a proxy


class _TryAgainError(Exception):
    """A failure that may pass."""


class _Session(requests.Session):
    """A session that takes no answer for a redirect, so that `Transfer` checks where it leads before it is parsed."""

    def get_redirect_target(self, _: requests.Response) -> None:
        """Return None: `Transfer` follows redirects."""


class Transfer:
    """The transfer of one file; `run` sets either `answer` or `error`, and `cancelled` ends it early.

    The file may have at most `limit` bytes and take at most `seconds`. With `tls_only` every url must be https; without
    it, a url of this machine may be http, and `token` is sent to the origin of the first url.
    """

    def __init__(
        self,
        url: str,
        limit: int,
        seconds: float,
        progress: Progress | None,
        *,
        token: str | None = None,
        is_known: IsKnown | None = None,
        tls_only: bool = False,
    ) -> None:
        self._url, self._limit, self._progress = url, limit, progress
        self._token, self._is_known, self._tls_only = token, is_known, tls_only
        self._seconds, self._deadline = seconds, time.monotonic() + seconds
        self._shown = shown_url(url)
        self._headers: Mapping[str, str] = {}  # of the first answer
        self.cancelled = threading.Event()
        self.answer: Answer | None = None
        self.error: BaseException | None = None

    def run(self) -> None:
        """Fetch the file, and set `answer` or `error`."""
        try:
            data = self._with_retries()
            self.answer = Answer(self._headers, data)
        except BaseException as error:  # noqa: BLE001 - it is raised again in the thread that waits
            self.error = error

    def too_slow(self) -> NetworkError:
        """Return the error that says that time ran out."""
        what = f"{self._shown}: not finished after {self._seconds:g} s"
        return NetworkError(what, "TOKCLI_TIMEOUT=SECONDS allows more time.")

    def _left(self) -> float:
        """Return the seconds until the deadline; raise NetworkError if none are left, or the transfer is cancelled."""
        left = self._deadline - time.monotonic()
        if left <= 0 or self.cancelled.is_set():
            raise self.too_slow()
        return left

    def _with_retries(self) -> bytes | None:
        for attempt in range(RETRIES + 1):
            try:
                with _Session() as session:
                    return self._attempt(session)
            except _TryAgainError as error:
                reason = str(error)
            if attempt < RETRIES and self.cancelled.wait(min(PAUSE_S * 2**attempt, self._left())):
                break
        raise NetworkError(
            f"{self._shown}: {reason}", "Try again later, or use a file or an encoding that is on this machine."
        )

    def _attempt(self, session: requests.Session) -> bytes | None:
        try:
            with self._open(session) as response:
                if self._is_known is not None and self._is_known(self._headers):
                    return None
                return self._body(response)
        except (requests.exceptions.InvalidProxyURL, requests.exceptions.InvalidSchema) as error:
            # the scheme of the url itself has been checked
            raise NetworkError(f"{self._shown}: the proxy cannot be used: {_reason(error)}") from None
        except requests.exceptions.InvalidURL as error:
            raise NetworkError(f"{self._shown}: not a valid url: {error}") from None
        except NetworkError:
            raise
        except requests.exceptions.ProxyError as error:
            raise self._refused_by_proxy(_reason(error)) from None
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
            if any(isinstance(found, ssl.SSLCertVerificationError) for found in _chain(error)):
                what = f"{self._shown}: its certificate is not trusted: {_reason(error)}"
                raise NetworkError(what, f"{_BUNDLES[0]}=FILE names the certificates to trust.") from None
            raise _TryAgainError(_reason(error)) from None
        except ValueError as error:  # of the libraries, for what they cannot parse
            raise NetworkError(f"{self._shown}: not a valid answer: {_reason(error)}") from None

    def _refused_by_proxy(self, reason: str) -> Exception:
        """Return the error for a proxy that gives no connection; one that may do so later is tried again."""
        status = _TUNNEL.match(reason)
        if status is None or int(status[1]) in _WORTH_A_RETRY:
            return _TryAgainError(f"no connection by the proxy: {_TUNNEL.sub('it answers ', reason)}")
        what = f"{self._shown}: the proxy refuses the connection: {_TUNNEL.sub('', reason)}"
        return NetworkError(what, "https_proxy or all_proxy names the proxy, and no_proxy the servers that need none.")

    def _open(self, session: requests.Session) -> requests.Response:
        """Return the answer that has the file, after redirects, or the first answer if it says that the file is known.

        Redirects are followed one by one.
        """
        url = self._url
        for hop in range(MAX_REDIRECTS + 1):
            self._check_url(url)
            if origin(url).scheme == "https":
                _check_bundle()
            left = self._left()
            response = session.get(
                url,
                stream=True,
                allow_redirects=False,
                timeout=(min(CONNECT_S, left), min(READ_S, left)),
                headers={"Accept-Encoding": "identity", "User-Agent": "tokcli"},
                auth=None if self._tls_only else self.authorize,
                proxies=_NO_PROXY if origin(url).scheme == "http" else None,
            )
            headers = {name.lower(): value for name, value in response.headers.items()}
            if hop == 0:
                self._headers = headers
            is_known = self._is_known is not None and self._is_known(self._headers)
            if response.status_code == 200 or (is_known and response.status_code in _REDIRECTS):
                return response
            response.close()
            if response.status_code not in _REDIRECTS or not headers.get("location"):
                what = f"the server answers {response.status_code} {(response.reason or '')[:_SHOWN]}".rstrip()
                if response.status_code in _WORTH_A_RETRY:
                    raise _TryAgainError(what)
                raise RefusedError(f"{self._shown}: {what}", response.status_code, headers)
            url = self._redirected(url, headers["location"])
        raise NetworkError(f"{self._shown}: more than {MAX_REDIRECTS} redirects")

    def _redirected(self, url: str, location: str) -> str:
        """Return the url that an answer for `url` redirects to; raise NetworkError if it is not a url."""
        try:
            location = location.encode("latin-1").decode()  # headers come as Latin-1, and urls are UTF-8 at most
            check_characters(location)
            return urljoin(url, location)
        except ValueError as error:
            reason = "a url that is not UTF-8" if isinstance(error, UnicodeError) else error
            raise NetworkError(f"{self._shown}: redirects to {reason}, which is refused") from None

    def _check_url(self, url: str) -> None:
        """Raise NetworkError for a url that is neither https, nor http on this machine if the caller allows that."""
        where = "" if url == self._url else f" redirects to {shown_url(url)}:"
        try:
            found = origin(url)
            if found.scheme == "http" and not (
                found.is_loopback and origin(self._url).is_loopback and not self._tls_only
            ):
                raise ValueError("only https urls are downloaded")
        except ValueError as error:
            raise NetworkError(f"{self._shown}:{where} {error}") from None

    def authorize(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Put the token into a request to the origin that it is for, and no other. (Else requests would read .netrc.)

        The url is the one that urllib3 connects to, read as urllib3 reads it.
        """
        parts = urllib3.util.parse_url(request.url or "")
        sent_to = (parts.scheme, parts.host, parts.port or urllib3.connection.port_by_scheme.get(parts.scheme or ""))
        if self._token is not None and not parts.auth and sent_to == origin(self._url):
            request.headers["Authorization"] = f"Bearer {self._token}"
        return request

    def _body(self, response: requests.Response) -> bytes:
        """Return the content of an answer, decoded; the limit holds for what is announced, sent and decoded."""
        announced = response.headers.get("Content-Length", "")
        is_number = announced.isascii() and announced.isdigit() and len(announced) <= _CONTENT_LENGTH_DIGITS
        total = int(announced) if is_number else None
        if total is not None and total > self._limit:
            raise NetworkError(f"{self._shown}: {total} bytes, more than the limit of {self._limit}")
        encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
        if encoding not in ("identity", "", "gzip"):
            raise NetworkError(f"{self._shown}: sent in the encoding {encoding[:_SHOWN]!r}, which was not asked for")
        received = 0

        def blocks() -> Iterator[bytes]:
            nonlocal received
            for block in response.raw.stream(_BLOCK_BYTES, decode_content=False):
                received += len(block)
                self._left()
                yield block
                if self._progress is not None:
                    self._progress(received, total)

        data = self._joined(_gunzip(blocks(), self._limit) if encoding == "gzip" else blocks())
        if total is not None and received != total:  # old releases of urllib3 do not check
            raise _TryAgainError(f"the connection ended after {received} of {total} bytes")
        return data

    def _joined(self, blocks: Iterator[bytes]) -> bytes:
        data = BytesIO()  # which gives its bytes without a copy
        try:
            for block in blocks:
                data.write(block)
                if data.tell() > self._limit:
                    raise NetworkError(f"{self._shown}: more than the limit of {self._limit} bytes")
        except zlib.error:
            raise _TryAgainError("the gzip data is damaged") from None
        return data.getvalue()


def _gunzip(blocks: Iterator[bytes], limit: int) -> Iterator[bytes]:
    """Yield the content of gzip data in small blocks, so that a bomb is found at `limit` before it fills the memory."""
    decoder = zlib.decompressobj(wbits=31)
    for block in blocks:
        rest = block
        while rest and not decoder.eof:
            yield decoder.decompress(rest, min(limit + 1, _UNPACKED_BYTES))
            rest = decoder.unconsumed_tail
    if not decoder.eof:
        raise zlib.error("cut short")


def _check_bundle() -> None:
    """Raise NetworkError if a variable names certificates that cannot be read: every connection would fail."""
    name = next((name for name in _BUNDLES if os.environ.get(name)), None)
    if name is None:
        return
    path = os.environ[name]
    try:
        kind = Path(path).stat().st_mode
        if stat.S_ISDIR(kind):
            return
        if not stat.S_ISREG(kind):  # nobody knows when a pipe ends
            reason = "not a regular file"
        else:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(path)
            return
    except ssl.SSLError:
        reason = "no certificates in PEM format"
    except (OSError, ValueError) as error:
        reason = reason_of(error)
    raise NetworkError(f"{name} is {path!r}: {reason}", f"Name a file or a folder of certificates, or unset {name}.")


def _reason(error: BaseException) -> str:
    """Return why a connection failed, without the names of classes and objects that urllib3 wraps it in.

    >>> _reason(ConnectionRefusedError(111, "Connection refused"))
    'connection refused'
    """
    chain = _chain(error)
    for found in reversed(chain):
        if isinstance(found, http.client.BadStatusLine) and not isinstance(found, http.client.RemoteDisconnected):
            return f"an answer that is not HTTP: {str(found).strip()[:_SHOWN]!r}"
        if isinstance(found, (http.client.IncompleteRead, urllib3.exceptions.IncompleteRead)):
            return "the connection ended before the file did"
        if isinstance(found, ssl.SSLError) and found.reason and not hasattr(found, "verify_message"):
            return f"no TLS connection: {found.reason.replace('_', ' ').lower()}"
        if text := getattr(found, "verify_message", None) or getattr(found, "strerror", None):
            return _in_one_line(str(text))
    if any(isinstance(found, (TimeoutError, urllib3.exceptions.TimeoutError)) for found in chain):
        return "no answer in time"
    return _in_one_line(str(chain[-1]))


def _chain(error: BaseException) -> list[BaseException]:
    """Return an exception, the one that caused it, and so on."""
    chain: list[BaseException] = []
    inner: object = error
    while isinstance(inner, BaseException) and inner not in chain:
        chain.append(inner)
        inner = next((cause for cause in _causes(inner) if isinstance(cause, BaseException)), None)
    return chain


def _in_one_line(text: str) -> str:
    return " ".join(text.lower().split())[:_SHOWN]


def _causes(error: BaseException) -> tuple[object, ...]:
    """Return the attributes of an exception, any of which may be the one that caused it."""
    return (getattr(error, "reason", None), *error.args, error.__cause__, error.__context__)
