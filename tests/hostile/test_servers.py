"""Servers that lie in every way: one error in time, nothing kept that is no tokenizer, and never a foreign exception."""

from __future__ import annotations

import gzip
import resource
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from loopback import Answer, Server, authority, server, serving  # noqa: F401 - fixtures
from support import ROOT, ok, refused

from tokcli.errors import NetworkError, TokcliError
from tokcli.registry.encodings import resolve_encoding
from tokcli.registry.network import transfer
from tokcli.registry.network.download import ask, download

TOKENIZER = (ROOT / "tests" / "data" / "formats" / "byte-level.tokenizer.json").read_bytes()
FIRST = "/org/name/resolve/main/tokenizer.json"
SHA256 = "0" * 64
TIMEOUT_S = 1.5
HEAD = b"HTTP/1.1 200 OK\r\n"
Talk = Callable[[socket.socket], None]


@pytest.fixture(autouse=True)
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TOKCLI_OFFLINE", "HF_HUB_OFFLINE", "HF_TOKEN", "HF_HUB_CACHE", "TIKTOKEN_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("TOKCLI_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TOKCLI_TIMEOUT", str(TIMEOUT_S))
    monkeypatch.setattr(transfer, "PAUSE_S", 0.01)


@pytest.fixture
def raw(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Talk], str]]:
    """Return a function that starts a hub which does to each connection what it is given, and returns its url."""
    listener = socket.create_server(("127.0.0.1", 0))

    def start(talk: Talk) -> str:
        def one(connection: socket.socket) -> None:
            with connection, suppress(OSError):
                connection.recv(1 << 16)
                talk(connection)

        def accept() -> None:
            with suppress(OSError):
                while True:
                    threading.Thread(target=one, args=(listener.accept()[0],), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        monkeypatch.setenv("HF_ENDPOINT", url)
        return url

    yield start
    listener.close()


def says(data: bytes) -> Talk:
    return lambda connection: connection.sendall(data)


def forever(data: bytes, first: bytes = b"", pause: float = 0.0) -> Talk:
    def talk(connection: socket.socket) -> None:
        connection.sendall(first)
        while True:
            connection.sendall(data)
            time.sleep(pause)

    return talk


CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
LIES: dict[str, Talk] = {
    "it closes the connection at once": says(b""),
    "it is no HTTP server": says(b"\x00\xff\x16\x03\x01" * 1000),
    "it speaks an unknown version": says(b"HTTP/9.9 200 OK\r\n\r\n"),
    "its status is no number": says(b"HTTP/1.1 2OO OK\r\n\r\n"),
    "its status is huge": says(b"HTTP/1.1 99999999999999999999 OK\r\n\r\n"),
    "its status is negative": says(b"HTTP/1.1 -200 OK\r\n\r\n"),
    "its reason is a megabyte": says(b"HTTP/1.1 404 " + b"x" * (1 << 20) + b"\r\n\r\n"),
    "its reason moves the cursor": says(b"HTTP/1.1 404 \x1b[2J\x9b31m\r\nContent-Length: 0\r\n\r\n"),
    "its reason is not ASCII": says(b"HTTP/1.1 404 \xff\xfe\x85\r\nContent-Length: 0\r\n\r\n"),
    "its header is a megabyte": says(HEAD + b"A: " + b"x" * (1 << 20) + b"\r\n\r\n"),
    "its headers never end": forever(b"A: b\r\n", HEAD),
    "its headers come one by one": forever(b"A", HEAD, 0.2),
    "it continues for ever": forever(b"HTTP/1.1 100 Continue\r\n\r\n", pause=0.01),
    "it says nothing": lambda _: time.sleep(30),
    "its length is too long": says(HEAD + b"Content-Length: 100000\r\n\r\n" + TOKENIZER),
    "its length is too short": says(HEAD + b"Content-Length: 100\r\n\r\n" + TOKENIZER),
    "its length is negative": says(HEAD + b"Content-Length: -5\r\n\r\n" + TOKENIZER[:50]),
    "its length is no number": says(HEAD + b"Content-Length: many\r\n\r\n" + TOKENIZER[:50]),
    "its length is beyond 64 bits": says(HEAD + b"Content-Length: " + b"9" * 40 + b"\r\n\r\n" + TOKENIZER[:50]),
    "it has two lengths": says(HEAD + b"Content-Length: 10\r\nContent-Length: 20\r\n\r\n" + TOKENIZER[:20]),
    "it is empty": says(HEAD + b"Content-Length: 0\r\n\r\n"),
    "its chunk has no size": says(CHUNKED + b"zz\r\nabc"),
    "its chunk is negative": says(CHUNKED + b"-5\r\nabc"),
    "its chunk is huge": says(CHUNKED + b"FFFFFFFFFFFFFFFFFFFF\r\nabc"),
    "its chunks are cut off": says(CHUNKED + b"5\r\nabcde\r\n5\r\nab"),
    "its chunk's size is a megabyte": says(CHUNKED + b"0" * (1 << 20) + b"\r\n"),
    "its chunks come one by one for ever": forever(b"1\r\nx\r\n", CHUNKED, 0.05),
    "its body comes a byte a time": forever(b"x", HEAD + b"Content-Length: 9999\r\n\r\n", 0.1),
    "its gzip is none": says(HEAD + b"Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello"),
    "its gzip is cut off": says(HEAD + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(TOKENIZER)[:99]),
    "its encoding is unknown": says(HEAD + b"Content-Encoding: br\r\n\r\nhello"),
    "its encoding is gzip twice": says(HEAD + b"Content-Encoding: gzip, gzip\r\n\r\nhello"),
    "it redirects without a place": says(b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n"),
    "it redirects to an empty place": says(b"HTTP/1.1 302 Found\r\nLocation:\r\nContent-Length: 0\r\n\r\n"),
    "it redirects to itself": says(b"HTTP/1.1 302 Found\r\nLocation: " + FIRST.encode() + b"\r\nContent-Length: 0\r\n\r\n"),
    "it redirects to a file": says(b"HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n"),
    "it redirects to two places": says(b"HTTP/1.1 302 F\r\nLocation: /a\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n"),
    "it redirects to a megabyte": says(b"HTTP/1.1 302 F\r\nLocation: /" + b"a" * 60_000 + b"\r\nContent-Length: 0\r\n\r\n"),
    "it sends a part": says(b"HTTP/1.1 206 Partial Content\r\nContent-Length: 5\r\n\r\n" + TOKENIZER[:5]),
    "it sends no content": says(b"HTTP/1.1 204 No Content\r\n\r\n"),
    "it says not modified": says(b"HTTP/1.1 304 Not Modified\r\n\r\n"),
    "it sends an error page": says(HEAD + b"Content-Type: text/html\r\n\r\n<!DOCTYPE html><h1>Please log in</h1>"),
    "it sends JSON of another kind": says(HEAD + b'\r\n{"error": "rate limited"}'),
    "it sends half of the file": says(HEAD + b"\r\n" + TOKENIZER[: len(TOKENIZER) // 2]),
    "its ETag is a megabyte": says(HEAD + b"ETag: " + b"x" * 60_000 + b"\r\n\r\nno tokenizer"),
}  # fmt: skip


@pytest.mark.clock
@pytest.mark.parametrize("lie", LIES)
def test_a_hub_that_lies_is_one_error_in_time_and_is_asked_again(
    lie: str, raw: Callable[[Talk], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw(LIES[lie])
    began = time.monotonic()
    with pytest.raises(TokcliError) as caught:
        resolve_encoding("org/name")
    assert time.monotonic() - began < TIMEOUT_S + 2
    assert len(str(caught.value)) < 500
    assert "\n" not in str(caught.value)
    with serving() as honest:
        honest.serve(FIRST, Answer(TOKENIZER))
        monkeypatch.setenv("HF_ENDPOINT", honest.url(""))
        resolve_encoding("org/name")


def test_a_page_that_is_no_tokenizer_is_not_kept_for_a_day(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url(""))
        hub.serve(FIRST, Answer(b"<!DOCTYPE html><h1>Please log in</h1>"), Answer(TOKENIZER))
        with pytest.raises(TokcliError):
            resolve_encoding("org/name")
        resolve_encoding("org/name")


def test_the_program_says_it_in_two_lines(raw: Callable[[Talk], str]) -> None:
    for lie in ("its reason moves the cursor", "it sends an error page", "its chunks come one by one for ever"):
        url = raw(LIES[lie])
        said = refused("count", "-e", "org/name", "-t", "x", env={"HF_ENDPOINT": url, "TOKCLI_OFFLINE": "", "TOKCLI_TIMEOUT": "2"})  # fmt: skip
        assert said.count("\n") <= 2
        assert "internal error" not in said
        assert not set(said) & set("\x1b\x9b")


@pytest.mark.memory
def test_an_endless_answer_ends_at_the_limit_and_takes_no_more_memory(raw: Callable[[Talk], str]) -> None:
    url = raw(forever(b"x" * (1 << 20), HEAD + b"\r\n"))
    code = (
        "import sys, resource; from tokcli.registry.network.download import ask\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try: ask(sys.argv[1], limit=50 << 20, timeout=60)\n"
        "except Exception as error: print(error)\n"
        "print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10)"
    )
    out = subprocess.run([sys.executable, "-c", code, url + "/x"], capture_output=True, text=True, check=True).stdout
    said, grown = out.splitlines()
    assert "more than the limit of 52428800 bytes" in said
    assert int(grown) < 130


@pytest.mark.memory
def test_a_bomb_in_a_bomb_is_opened_once(raw: Callable[[Talk], str]) -> None:
    bomb = gzip.compress(gzip.compress(bytes(10_000_000)))
    url = raw(says(HEAD + b"Content-Encoding: gzip\r\n\r\n" + bomb))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert (ask(url + "/x").data or b"")[:2] == b"\x1f\x8b"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000


@pytest.mark.parametrize("proxy", ["http://[", "nonsense", "socks5://127.0.0.1:1", "ftp://127.0.0.1:1", "http://127.0.0.1:1",
                                   "http://me:secret@127.0.0.1:1", "http://\udcff:1", "://", "http://127.0.0.1:99999"])  # fmt: skip
def test_a_proxy_that_is_none_is_one_error(proxy: str, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    server.serve("/a", Answer(TOKENIZER))
    monkeypatch.setenv("https_proxy", proxy)
    with pytest.raises(NetworkError) as caught:
        download(server.url("/a"), SHA256)
    assert server.asked == []
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("bundle", ["/nowhere.pem", "/dev/null", "/etc/hostname", "/"])
def test_a_bundle_of_certificates_that_is_none_is_one_error(
    bundle: str, server: Server, monkeypatch: pytest.MonkeyPatch  # noqa: F811
) -> None:  # fmt: skip
    server.serve("/a", Answer(TOKENIZER))
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", bundle)
    with pytest.raises(NetworkError):
        download(server.url("/a"), SHA256)
    assert server.asked == []


@pytest.mark.parametrize("says_first", [b"", b"\x15\x03\x03\x00\x02\x02\x28", b"\x16\x03\x03\x00\x04junk"])
def test_a_handshake_that_fails_is_no_matter_of_certificates(says_first: bytes, raw: Callable[[Talk], str]) -> None:
    """A connection that was cut was once an untrusted certificate, and was not tried again."""
    tries = []

    def talk(connection: socket.socket) -> None:
        tries.append(connection)
        connection.sendall(says_first)

    with pytest.raises(NetworkError) as caught:
        download(raw(talk).replace("http:", "https:") + "/a", SHA256)
    assert "certificate" not in str(caught.value)
    assert len(tries) == transfer.RETRIES + 1


@pytest.mark.parametrize("proxy", ["socks9://127.0.0.1:1", "http:///path", "http://:1"])
def test_a_proxy_that_cannot_be_used_is_not_the_fault_of_the_url(
    proxy: str, server: Server, monkeypatch: pytest.MonkeyPatch  # noqa: F811
) -> None:  # fmt: skip
    monkeypatch.setenv("https_proxy", proxy)
    with pytest.raises(NetworkError, match="proxy"):
        download(server.url("/a"), SHA256)


def test_a_server_without_tls_is_one_error(raw: Callable[[Talk], str]) -> None:
    url = raw(says(b"HTTP/1.1 400 Bad Request\r\n\r\n")).replace("http:", "https:")
    with pytest.raises(NetworkError):
        download(url + "/a", SHA256)


@pytest.mark.parametrize("offline", ["", " ", "0", "1", "x", "2", "nope", "\udcff", "\n", "off", "x" * 100_000])
def test_any_value_of_offline_is_a_yes_or_a_no(offline: str, tmp_path: Path) -> None:
    """`TOKCLI_OFFLINE=x` was once an invalid value for --offline, of commands that need no network, too."""
    env = {"HF_ENDPOINT": "http://127.0.0.1:1", "HF_HOME": str(tmp_path), "TOKCLI_OFFLINE": offline}
    assert ok("count", "-t", "x", env=env) == b"1\n"
    said = refused("count", "-e", "org/name", "-t", "x", env=env)
    assert ("network may not be used" in said) == (offline.strip() not in ("", "0", "off"))


def test_a_backend_that_is_none_is_named_alone() -> None:
    said = refused("count", "-t", "x", env={"TOKCLI_BACKEND": "\x1b[31m"})
    assert said.startswith("Error: TOKCLI_BACKEND=␛[31m: no such backend\n")


@pytest.mark.parametrize("offline", ["1", "yes", "x", " true "])
def test_offline_means_no_connection_at_all(offline: str, tmp_path: Path) -> None:
    with serving() as hub:
        hub.serve(FIRST, Answer(TOKENIZER))
        env = {"HF_ENDPOINT": hub.url(""), "TOKCLI_OFFLINE": offline, "HF_HOME": str(tmp_path)}
        refused("count", "-e", "org/name", "-t", "x", env=env)
        refused("count", "-e", f"https://localhost:{hub.server_port}/f#sha256={SHA256}", "-t", "x", env=env)
        assert hub.asked == []
        assert ok("count", "-e", "org/name", "-t", "x", env=env | {"TOKCLI_OFFLINE": "0"})
        assert hub.asked == [FIRST]
