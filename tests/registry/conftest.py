"""A loopback TLS server whose answers a test sets, a cache folder of the test's own, and which files were parsed."""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import trustme

from tokcli.formats import vocabulary

PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@dataclass
class Answer:
    """What the server sends for a path; a `cut` body ends early, a slow one has `pause` seconds before every byte."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False
    pause: float = 0.0


class Server(ThreadingHTTPServer):
    """Answers path by path, the last answer for a path again and again; `asked` has the paths asked for."""

    daemon_threads = True

    def __init__(self) -> None:
        self.answers: dict[str, list[Answer]] = {}
        self.asked: list[str] = []
        self.authorizations: list[str | None] = []  # of what was asked
        self.closing = threading.Event()
        super().__init__(("127.0.0.1", 0), Handler)

    def url(self, path: str) -> str:
        return f"https://localhost:{self.server_port}{path}"

    def serve(self, path: str, *answers: Answer) -> str:
        self.answers[path] = list(answers)
        return self.url(path)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away is part of the tests."""


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        self.server.authorizations.append(self.headers.get("Authorization"))
        answers = self.server.answers.get(self.path, [Answer(status=404)])
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        self.send_response(answer.status)
        for name, value in ({"Content-Length": str(len(answer.body))} | answer.headers).items():
            if value:
                self.send_header(name, value)
        self.end_headers()
        if answer.pause:
            for byte in answer.body:
                if self.server.closing.wait(answer.pause):
                    return
                self.wfile.write(bytes([byte]))
                self.wfile.flush()
            return
        self.wfile.write(answer.body[: len(answer.body) // 2] if answer.cut else answer.body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="session")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def server(authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    bundle = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(bundle))
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(bundle))
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    server = Server()
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.closing.set()
    server.shutdown()
    thread.join()
    server.server_close()
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline and any(t.name == "tokcli-download" for t in threading.enumerate()):
        time.sleep(0.01)


@pytest.fixture
def answer() -> type[Answer]:
    """The class of the server's answers."""
    return Answer


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache folder of this test, which does not exist yet."""
    for name in ("TOKCLI_OFFLINE", "TOKCLI_TIMEOUT", "TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "cache"
    monkeypatch.setenv("TOKCLI_CACHE_DIR", str(folder))
    return folder


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that were parsed."""
    found: list[str] = []
    parse: Callable[[Any], Any] = vocabulary.parse_sources

    def noting(sources: vocabulary.Sources) -> Any:
        found.append(str(sources.files[0][0]))
        return parse(sources)

    monkeypatch.setattr(vocabulary, "parse_sources", noting)
    return found
