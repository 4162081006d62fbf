"""Downloads against a loopback TLS server that misbehaves."""

from __future__ import annotations

import gzip
import hashlib
import subprocess
import sys
import time

import pytest
from loopback import Answer, Server

from tokcli.errors import InputError, NetworkError
from tokcli.registry.network import transfer
from tokcli.registry.network.download import download

BODY = b"some ranks\n" * 1000
SHA256 = hashlib.sha256(BODY).hexdigest()


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "PAUSE_S", 0.01)


def test_a_good_file_arrives_with_its_progress(server: Server) -> None:
    seen: list[tuple[int, int | None]] = []
    data = download(server.serve("/a", Answer(BODY)), SHA256, progress=lambda done, total: seen.append((done, total)))
    assert data == BODY
    assert seen[-1] == (len(BODY), len(BODY))


def test_a_wrong_sha256_is_an_error_and_not_tried_again(server: Server) -> None:
    with pytest.raises(NetworkError, match=f"its SHA-256 is {SHA256}, expected 0000"):
        download(server.serve("/a", Answer(BODY)), "0" * 64)
    assert server.asked == ["/a"]


def test_a_file_announced_above_the_limit_is_refused(server: Server) -> None:
    with pytest.raises(NetworkError, match="11000 bytes, more than the limit of 100"):
        download(server.serve("/a", Answer(BODY)), SHA256, limit=100)


def test_the_limit_holds_where_no_length_is_announced(server: Server) -> None:
    with pytest.raises(NetworkError, match="more than the limit of 100 bytes"):
        download(server.serve("/a", Answer(BODY, headers={"Content-Length": ""})), SHA256, limit=100)


def test_a_gzip_bomb_is_found_out_at_the_limit(server: Server) -> None:
    bomb = gzip.compress(bytes(50_000_000))
    url = server.serve("/a", Answer(bomb, headers={"Content-Encoding": "gzip"}))
    with pytest.raises(NetworkError, match="more than the limit of 1000000 bytes"):
        download(url, SHA256, limit=1_000_000)


def test_gzip_that_was_not_asked_for_is_decoded(server: Server) -> None:
    url = server.serve("/a", Answer(gzip.compress(BODY), headers={"Content-Encoding": "gzip"}))
    assert download(url, SHA256) == BODY


def test_an_unknown_content_encoding_is_refused(server: Server) -> None:
    with pytest.raises(NetworkError, match="'gzip, gzip', which was not asked for"):
        download(server.serve("/a", Answer(BODY, headers={"Content-Encoding": "gzip, gzip"})), SHA256)


@pytest.mark.clock
def test_a_server_that_sends_a_byte_now_and_then_meets_the_time_limit(server: Server) -> None:
    began = time.monotonic()
    with pytest.raises(NetworkError, match=r"not finished after 0\.5 s"):
        download(server.serve("/a", Answer(BODY, pause=0.1)), SHA256, timeout=0.5)
    assert time.monotonic() - began < 2


def test_the_time_limit_comes_from_the_environment(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKCLI_TIMEOUT", "0.3")
    with pytest.raises(NetworkError, match=r"not finished after 0\.3 s"):
        download(server.serve("/a", Answer(BODY, pause=0.1)), SHA256)


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "soon"])
def test_a_time_limit_that_is_none_is_an_error(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKCLI_TIMEOUT", text)
    with pytest.raises(InputError, match="TOKCLI_TIMEOUT"):
        download("https://localhost/a", SHA256)


def test_404_is_an_error_at_once(server: Server) -> None:
    with pytest.raises(NetworkError, match="the server answers 404 Not Found"):
        download(server.serve("/a", Answer(status=404)), SHA256)
    assert server.asked == ["/a"]


def test_500_is_tried_again(server: Server) -> None:
    assert download(server.serve("/a", Answer(status=500), Answer(BODY)), SHA256) == BODY


def test_500_is_tried_three_times_and_no_more(server: Server) -> None:
    with pytest.raises(NetworkError, match="the server answers 500"):
        download(server.serve("/a", Answer(status=500)), SHA256)
    assert server.asked == ["/a"] * 3


def test_a_body_that_is_cut_is_tried_again(server: Server) -> None:
    assert download(server.serve("/a", Answer(BODY, cut=True), Answer(BODY)), SHA256) == BODY


def test_a_body_that_is_always_cut_is_an_error(server: Server) -> None:
    with pytest.raises(NetworkError):
        download(server.serve("/a", Answer(BODY, cut=True)), SHA256)


def test_a_redirect_to_https_is_followed(server: Server) -> None:
    server.serve("/b", Answer(BODY))
    assert download(server.serve("/a", Answer(status=302, headers={"Location": "/b"})), SHA256) == BODY


def test_a_redirect_to_http_is_refused(server: Server) -> None:
    url = server.serve("/a", Answer(status=302, headers={"Location": "http://localhost/b"}))
    with pytest.raises(NetworkError, match="redirects to http://localhost/b: only https"):
        download(url, SHA256)


def test_redirects_are_bounded(server: Server) -> None:
    with pytest.raises(NetworkError, match="more than 5 redirects"):
        download(server.serve("/a", Answer(status=302, headers={"Location": "/a"})), SHA256)


def test_a_certificate_nobody_vouches_for_is_refused(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REQUESTS_CA_BUNDLE")
    monkeypatch.delenv("CURL_CA_BUNDLE", raising=False)
    with pytest.raises(NetworkError, match="certificate is not trusted"):
        download(server.serve("/a", Answer(BODY)), SHA256)


def test_a_server_that_is_not_there_is_an_error(server: Server) -> None:
    port = server.server_port
    with pytest.raises(NetworkError, match=r"https://localhost:\d+/a: .*refused"):
        download(f"https://localhost:{1 if port != 1 else 2}/a", SHA256)


def test_proxies_are_honoured(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:1")
    with pytest.raises(NetworkError):
        download(server.serve("/a", Answer(BODY)), SHA256)
    assert server.asked == []


def test_messages_keep_passwords_and_queries_to_themselves(server: Server) -> None:
    server.serve("/a?key=k1", Answer(status=404))
    with pytest.raises(NetworkError) as caught:
        download(f"https://me:secret@localhost:{server.server_port}/a?key=k1", SHA256)
    assert "secret" not in str(caught.value)
    assert "k1" not in str(caught.value)


def test_importing_the_registry_loads_no_network_library() -> None:
    code = (
        "import sys, tokcli.registry.registered as r; r.get_encoding('r50k_base');"
        "bad = {'requests', 'urllib3', 'filelock', 'platformdirs', 'rich', 'ssl'} & set(sys.modules); sys.exit(str(bad) if bad else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True)
    assert done.returncode == 0, done.stderr
