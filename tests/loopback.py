"""An HTTP server on this machine whose answers a test sets, with TLS or without, and fixtures that have one."""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import trustme


@dataclass
class Answer:
    """The response to a path; a `cut` body ends early, a slow one has `pause` seconds before every byte."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False
    pause: float = 0.0


class Server(ThreadingHTTPServer):
    """A server that has a list of answers for each path (or for "*") and repeats the last; `asked` has the paths."""

    daemon_threads = True

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.answers: dict[str, list[Answer]] = {}
        self.asked: list[str] = []
        self.authorizations: list[str | None] = []  # of what was asked
        self.closing = threading.Event()
        super().__init__(("127.0.0.1", 0), Handler)
        self.scheme = "https" if tls else "http"
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    def url(self, path: str) -> str:
        return f"{self.scheme}://localhost:{self.server_port}{path}"

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
        answers = self.server.answers.get(self.path) or self.server.answers.get("*", [Answer(status=404)])
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


@contextmanager
def serving(tls: ssl.SSLContext | None = None) -> Iterator[Server]:
    """Run a server on a free port of this machine, with TLS where a context is given."""
    server = Server(tls)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        server.shutdown()
        thread.join()
        server.server_close()


PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


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
    before = set(threading.enumerate())  # a download that an earlier test gave up may take long to notice
    with serving(context) as server:
        yield server
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline and any(t.name == "tokcli-download" for t in {*threading.enumerate()} - before):
        time.sleep(0.01)
