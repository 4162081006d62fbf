"""Urls that parsers read differently: the token of the hub goes to the hub or nowhere, and no url breaks the program."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from loopback import Answer, Server, serving
from support import ROOT, run_tokcli

from tokcli.errors import NetworkError, TokcliError
from tokcli.registry.encodings import resolve_encoding
from tokcli.registry.network.urls import origin, shown_url

TOKENIZER = (ROOT / "tests" / "data" / "formats" / "byte-level.tokenizer.json").read_bytes()
FIRST = "/org/name/resolve/main/tokenizer.json"

# {evil} and {hub} are HOST:PORT
LOCATIONS = [
    "http://{evil}\\@{hub}/x", "http://{hub}\\@{evil}/x", "http://{evil}\\\\@{hub}/x", "http://{evil}/\\@{hub}/x",
    "http://{hub}@{evil}/x", "http://{hub}:80@{evil}/x", "http://me:secret@{evil}/x", "http://{evil}@{hub}/x",
    "http://@{evil}/x", "http://:@{evil}/x", "http://{hub}%40{evil}/x", "http://{evil}%2f@{hub}/x",
    "http://{evil}#@{hub}/x", "http://{evil}?@{hub}/x", "http://{evil};@{hub}/x", "http://{evil}/@{hub}/x",
    "//{evil}/x", "///{evil}/x", "////{evil}/x", "/\\{evil}/x", "\\\\{evil}/x", "//{hub}\\@{evil}/x",
    "//{hub}@{evil}/x", "http:\\\\{evil}/x", "http:/{evil}/x", "http:{evil}/x", "http:///{evil}/x",
    "HTTP://{evil}/x", "hTTp://{evil}/x", "http://{hub}\t@{evil}/x", "ht\ttp://{evil}/x", "http:// {evil}/x",
    "http://{evil} @{hub}/x", "http://{evil}/x y", "http://{evil}\x0b@{hub}/x", "http://{evil}\x00@{hub}/x",
    "http://{evil}\x7f@{hub}/x", "http://{evil}\xa0@{hub}/x", "http://{evil}\xad@{hub}/x", "http://{evil}\x85/x",
    "http://[::1]@{evil}/x", "http://[{evil}]/x", "http://{evil}:{hub}/x", "http://{hub}.{evil}/x",
    "http://{hub},{evil}/x", "http://{hub}&@{evil}/x", "http://{hub}%00@{evil}/x", "http://{hub}%0d%0aX@{evil}/x",
    "http://127.0.0.1:0@{evil}/x", "x://{evil}/x", "javascript:x@{evil}", "file://{evil}/etc/passwd", "http://{evil}",
    "http://{evil}/\xff\xfe", "http://l\xf6calhost/x", "?@{evil}", "#@{evil}", "http://localhost:99999/@{evil}",
]  # fmt: skip


@pytest.fixture
def evil() -> Iterator[Server]:
    with serving() as server:
        server.answers["*"] = [Answer(TOKENIZER)]
        yield server


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A hub whose token is set; http, as it may be on this machine, so that every redirect could be followed."""
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    monkeypatch.setenv("TOKCLI_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("TOKCLI_OFFLINE", "HF_HUB_OFFLINE", "HF_HUB_CACHE", "http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with serving() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url(""))
        yield server


@pytest.mark.parametrize("location", LOCATIONS)
def test_no_redirect_takes_the_token_to_another_server(location: str, hub: Server, evil: Server) -> None:
    places = {"evil": f"127.0.0.1:{evil.server_port}", "hub": f"localhost:{hub.server_port}"}
    hub.serve(FIRST, Answer(status=302, headers={"Location": location.format(**places)}))
    try:
        resolve_encoding("org/name")
    except TokcliError as error:
        assert "hf_secret" not in str(error) + error.hint
        assert len(str(error)) < 400
    assert [held for held in evil.authorizations if held] == []


def test_a_redirect_to_the_same_server_keeps_the_token(hub: Server) -> None:
    hub.serve(FIRST, Answer(status=302, headers={"Location": f"http://LOCALHOST:{hub.server_port}/far"}))
    hub.serve("/far", Answer(TOKENIZER))
    resolve_encoding("org/name")
    assert hub.authorizations == ["Bearer hf_secret"] * 2


def test_a_hub_on_this_machine_is_not_asked_through_a_proxy(
    hub: Server, evil: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{evil.server_port}")
    hub.serve(FIRST, Answer(TOKENIZER))
    resolve_encoding("org/name")
    assert evil.asked == []
    assert hub.authorizations == ["Bearer hf_secret"]


HOSTILE = [
    "https://[", "https://]", "https://[::1", "https://[x]/", "https://a\\@b/", "https://me:pw@host/", "https://:pw@host",
    "https://ho st/", "https://host\t/", "https://host/\x00"[:-1] + "\x01", "https://host\x7f/", "https://host\u2028/",
    "https://host\u202e/", "https://h\u00f6st/", "https://\u24d7ub/", "https://host:0/", "https://host:65536/",
    "https://host:\u0663/", "https://host:-1/", "https://host:1:2/", "https://host:80a/", "https:///path", "https://",
    "https:host/", "//host/", "ftp://host/", "file:///etc/passwd", "https://host\udcff/", "https://%68ost/",
    "https://host?q", "https://host#f", "https://" + "a" * 100_000 + "\\",
]  # fmt: skip


@pytest.mark.parametrize("url", HOSTILE)
def test_an_endpoint_that_parsers_disagree_about_is_one_line(url: str) -> None:
    environment = {"HF_ENDPOINT": url, "TOKCLI_OFFLINE": ""}
    ran = run_tokcli("count", "-e", "org/name", "-t", "x", env=environment)
    assert ran.status == 2
    assert ran.err.startswith("Error: HF_ENDPOINT is ")
    assert ran.err.count("\n") <= 2
    assert len(ran.err) < 400


@pytest.mark.parametrize(
    "url", [url for url in HOSTILE if url.startswith("https:") and "#" not in url and "?" not in url]
)
def test_a_url_that_parsers_disagree_about_is_not_downloaded(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TOKCLI_OFFLINE", raising=False)
    spec = f"{url}/f#sha256={'0' * 64}"
    if "://" not in spec:
        return
    with pytest.raises(NetworkError, match="refused: ") as caught:
        resolve_encoding(spec)
    assert "pw" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["https://host/a b"[:-2], "https://HOST:8443/x?y#z", "http://[::1]:80/", "https://a.b.c./"]
)
def test_what_every_parser_reads_alike_has_an_origin(url: str) -> None:
    import urllib3

    parts = urllib3.util.parse_url(url)
    assert (origin(url).scheme, origin(url).host) == (parts.scheme, parts.host)


@pytest.mark.parametrize(
    "host", ["127.0.0.1.evil", "127.1", "0x7f.0.0.1", "2130706433", "127.999.0.1", "0.0.0.0", "localhost.evil", "[::2]"]
)
def test_what_only_looks_like_this_machine_is_not(host: str) -> None:
    assert not origin(f"http://{host}/").is_loopback


def test_a_password_with_a_slash_is_not_shown() -> None:
    assert shown_url("https://me:pa/ss@host/f?key=1") == "https://host/f"
    assert "secret" not in shown_url("https://me:secret@host/http://x")
