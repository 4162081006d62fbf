"""The cache of downloads: checked whenever it is read, and done without where it cannot be trusted."""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from loopback import Answer, Server
from support import ROOT

from tokcli.errors import NetworkError
from tokcli.registry.network import cache as cache_module
from tokcli.registry.network.cache import fetch

BODY = b"some ranks\n" * 1000
SHA256 = hashlib.sha256(BODY).hexdigest()


@pytest.fixture
def url(server: Server) -> str:
    """A url that has BODY."""
    found: str = server.serve("/a", Answer(BODY))
    return found


def test_a_file_is_downloaded_once_and_kept_privately(server: Server, url: str, cache: Path) -> None:
    assert fetch(url, SHA256) == fetch(url, SHA256) == BODY
    assert server.asked == ["/a"]
    assert [stat.S_IMODE(p.stat().st_mode) for p in (cache, cache / "downloads")] == [0o700, 0o700]
    assert sorted(p.name for p in (cache / "downloads").iterdir()) == sorted([SHA256, SHA256 + ".lock"])
    assert stat.S_IMODE((cache / "downloads" / SHA256).stat().st_mode) == 0o600


def test_processes_that_ask_at_once_download_once(server: Server, url: str) -> None:
    code = f"from tokcli.registry.network.cache import fetch; assert len(fetch({url!r}, {SHA256!r})) == {len(BODY)}"
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    running = [subprocess.Popen([sys.executable, "-c", code], env=env) for _ in range(2)]
    assert [process.wait(60) for process in running] == [0, 0]
    assert server.asked == ["/a"]


def test_a_damaged_file_is_downloaded_again(server: Server, url: str, cache: Path) -> None:
    fetch(url, SHA256)
    (cache / "downloads" / SHA256).write_bytes(b"x" + BODY[1:])
    assert fetch(url, SHA256) == BODY
    assert (cache / "downloads" / SHA256).read_bytes() == BODY
    assert server.asked == ["/a", "/a"]


def test_a_file_with_the_wrong_content_never_gets_its_name(url: str, cache: Path) -> None:
    with pytest.raises(NetworkError):
        fetch(url, "0" * 64)
    assert [p.name for p in (cache / "downloads").iterdir()] == ["0" * 64 + ".lock"]


def test_offline_uses_the_cache_and_never_the_network(
    server: Server, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(NetworkError, match="the network may not be used"):
        fetch(url, SHA256, offline=True)
    assert server.asked == []
    fetch(url, SHA256)
    monkeypatch.setenv("TOKCLI_OFFLINE", "1")
    assert fetch(url, SHA256) == BODY
    with pytest.raises(NetworkError, match="the network may not be used"):
        fetch(url, "0" * 64)
    assert server.asked == ["/a"]


def test_a_symlinked_cache_is_done_without(url: str, cache: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    cache.symlink_to(tmp_path / "elsewhere")
    notes: list[str] = []
    assert fetch(url, SHA256, note=notes.append) == BODY
    assert notes == [f"the cache is not used: {cache} is a symlink"]
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_symlink_in_the_cache_is_replaced_and_not_followed(url: str, cache: Path, tmp_path: Path) -> None:
    (cache / "downloads").mkdir(parents=True)
    (tmp_path / "victim").write_bytes(BODY)
    (cache / "downloads" / SHA256).symlink_to(tmp_path / "victim")
    assert fetch(url, SHA256) == BODY
    assert not (cache / "downloads" / SHA256).is_symlink()


def test_a_cache_of_another_user_is_done_without(url: str, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.mkdir()
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    notes: list[str] = []
    assert fetch(url, SHA256, note=notes.append) == BODY
    assert notes == [f"the cache is not used: {cache} belongs to another user"]
    assert list(cache.iterdir()) == []


def test_a_cache_that_cannot_be_made_is_done_without(url: str, cache: Path) -> None:
    cache.write_bytes(b"a file")
    notes: list[str] = []
    assert fetch(url, SHA256, note=notes.append) == BODY
    assert notes == [f"the cache is not used: {cache} is not a folder"]


def test_a_cache_that_cannot_be_written_is_read_all_the_same(
    server: Server, url: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch(url, SHA256)
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write anywhere, whatever the mode
    assert fetch(url, SHA256) == BODY
    assert server.asked == ["/a"]
    (cache / "downloads" / SHA256).unlink()
    notes: list[str] = []
    assert fetch(url, SHA256, note=notes.append) == BODY
    assert notes == [f"the cache is not used: {cache / 'downloads'}: not writable"]


def test_a_full_disk_costs_the_cache_and_not_the_file(url: str, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    notes: list[str] = []
    assert fetch(url, SHA256, note=notes.append) == BODY
    assert notes == [f"{cache / 'downloads' / SHA256} is not kept: no space left on device"]
    assert [p.name for p in (cache / "downloads").iterdir()] == [SHA256 + ".lock"]


@pytest.mark.parametrize("variable", ["TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"])
def test_tiktokens_cache_is_read(
    variable: str, server: Server, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, str(tmp_path / "tiktoken"))
    (tmp_path / "tiktoken").mkdir()
    file = tmp_path / "tiktoken" / hashlib.sha1(url.encode()).hexdigest()
    file.write_bytes(BODY)
    assert fetch(url, SHA256, offline=True) == BODY
    file.write_bytes(b"something else")
    assert fetch(url, SHA256) == BODY
    assert server.asked == ["/a"]
    assert file.read_bytes() == b"something else"


def test_the_cache_is_the_users_where_none_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TOKCLI_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_module.cache_dir() == str(tmp_path / "tokcli")
