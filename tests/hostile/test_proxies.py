"""Proxies that lie, and certificates that are none: the error says whose fault it is, and the token stays in the tunnel."""

from __future__ import annotations

import os
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import trustme
from loopback import Answer, Server, authority, server  # noqa: F401 - fixtures

from tokcli.errors import NetworkError
from tokcli.registry.network import transfer
from tokcli.registry.network.download import ask, download

SHA256 = "0" * 64
TOKEN = "hf_secret"
ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"
FILE = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfile"
ELSEWHERE = b"HTTP/1.1 302 Found\r\nLocation: https://other.example/file\r\nContent-Length: 0\r\n\r\n"


class Proxy:
    """A proxy that answers CONNECT with `answer`, and then plays the server, which says `inner`; it keeps what it reads."""

    def __init__(self, tls: ssl.SSLContext) -> None:
        self.answer, self.inner = ESTABLISHED, [FILE]
        self.outside: list[bytes] = []
        self.inside: list[bytes] = []
        self._tls = tls
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                self._talk(self.listener.accept()[0])

    def _talk(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            self.outside.append(connection.recv(1 << 16))
            connection.sendall(self.answer)
            if self.answer == ESTABLISHED:
                with self._tls.wrap_socket(connection, server_side=True) as inside:
                    self.inside.append(inside.recv(1 << 16))
                    inside.sendall(self.inner.pop(0) if len(self.inner) > 1 else self.inner[0])


@pytest.fixture
def proxy(server: Server, authority: trustme.CA, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:  # noqa: F811
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("hub.example", "other.example").configure_cert(context)
    proxy = Proxy(context)
    monkeypatch.setenv("https_proxy", f"http://me:password@127.0.0.1:{proxy.port}")
    monkeypatch.setattr(transfer, "PAUSE_S", 0.01)
    yield proxy
    proxy.listener.close()


@pytest.mark.parametrize("status", ["407 Proxy Authentication Required", "403 Forbidden", "302 Found", "204 None"])
def test_a_proxy_that_refuses_is_named_and_asked_once(status: str, proxy: Proxy) -> None:
    """The answers of a proxy were once told as if the server had failed, with the advice to try again later."""
    proxy.answer = f"HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n".encode()
    with pytest.raises(NetworkError, match=f"the proxy refuses the connection: {status.lower()}$") as caught:
        download("https://hub.example/file", SHA256)
    assert "https_proxy" in caught.value.hint
    assert "Try again later" not in caught.value.hint
    assert "password" not in str(caught.value)
    assert len(proxy.outside) == 1


def test_a_proxy_that_cannot_reach_the_server_is_asked_again(proxy: Proxy) -> None:
    proxy.answer = b"HTTP/1.1 502 Bad Gateway\r\n\r\n"
    with pytest.raises(NetworkError, match="no connection by the proxy: it answers 502 bad gateway"):
        download("https://hub.example/file", SHA256)
    assert len(proxy.outside) == transfer.RETRIES + 1


@pytest.mark.parametrize("answer", [b"hello\n", b"\xff\x00\r\n\r\n", b"HTTP/1.1 99999 x\r\n\r\n"])
def test_an_answer_that_is_not_http_is_called_so(answer: bytes, proxy: Proxy) -> None:
    """What was sent was once all that the message said."""
    proxy.answer = answer
    with pytest.raises(NetworkError, match="an answer that is not HTTP: '"):
        download("https://hub.example/file", SHA256)


@pytest.mark.parametrize(
    ("inner", "said"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nfile", "the connection ended before the file did"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "the connection ended before the file did"),
    ],
)
def test_a_cut_answer_is_told_in_plain_words(inner: bytes, said: str, proxy: Proxy) -> None:
    proxy.inner = [inner]
    with pytest.raises(NetworkError, match=f"{said}$"):
        download("https://hub.example/file", SHA256)


def test_the_token_goes_through_the_tunnel_to_its_own_server_only(proxy: Proxy) -> None:
    proxy.inner = [ELSEWHERE, FILE]
    assert ask("https://hub.example/file", token=TOKEN).data == b"file"
    assert [TOKEN in text.decode() for text in proxy.inside] == [True, False]
    assert not any(TOKEN in text.decode("latin-1") for text in proxy.outside)
    assert not any(b"proxy-authorization" in text.lower() for text in proxy.inside)


@pytest.mark.parametrize("variable", ["REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"])
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "no such file or directory"),
        (b"", "no certificates in PEM format"),
        (b"-----BEGIN CERTIFICATE-----\n", "no certificates in PEM format"),
        ("pipe", "not a regular file"),
    ],
)
def test_certificates_that_cannot_be_read_are_named_before_anybody_is_asked(
    variable: str, content: bytes | str | None, said: str, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch  # noqa: F811
) -> None:  # fmt: skip
    """Such a file was once a failure that may pass, and a pipe was waited for; its name was in small letters, and cut."""
    server.serve("/a", Answer(b"file"))
    path = tmp_path / "Certificates.pem"
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content is not None:
        os.mkfifo(path)
    monkeypatch.delenv("REQUESTS_CA_BUNDLE")
    monkeypatch.setenv(variable, str(path))
    with pytest.raises(NetworkError) as caught:
        download(server.url("/a"), SHA256)
    assert str(caught.value) == f"{variable} is {str(path)!r}: {said}"
    assert "Try again later" not in caught.value.hint
    assert server.asked == []


def test_who_meets_an_unknown_authority_is_told_how_to_trust_it(
    server: Server, monkeypatch: pytest.MonkeyPatch  # noqa: F811
) -> None:  # fmt: skip
    monkeypatch.delenv("REQUESTS_CA_BUNDLE")
    with pytest.raises(NetworkError) as caught:
        download(server.serve("/a", Answer(b"file")), SHA256)
    assert "REQUESTS_CA_BUNDLE=FILE" in caught.value.hint
