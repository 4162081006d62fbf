"""The chat templates of Hugging Face repositories: from the hub, our cache, and the hub's own cache on this machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from loopback import Answer, Server, serving
from support import ROOT, ok, refused

from tokcli.errors import OfflineError
from tokcli.registry.chat_templates import find_templates
from tokcli.registry.encodings import resolve_encoding
from tokcli.registry.network import transfer

TOKENIZER = (ROOT / "tests" / "data" / "formats" / "plain.tokenizer.json").read_bytes()
COMMIT = "ab" * 20
CONFIG = json.dumps({"chat_template": "A", "bos_token": "<|end|>"}).encode()
HI = json.dumps([{"role": "user", "content": "hi"}]).encode()


@pytest.fixture(autouse=True)
def environment(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The hub is the loopback server, and its cache an empty folder, which is returned."""
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_TOKEN_PATH", "HF_HUB_OFFLINE", "HF_HUB_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_ENDPOINT", server.url(""))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setattr(transfer, "PAUSE_S", 0.01)
    return tmp_path / "hf"


def serve(server: Server, revision: str = "main", **files: bytes) -> None:
    for name, body in files.items():
        stem, _, suffix = name.rpartition("_")
        answer = Answer(body, headers={"X-Repo-Commit": COMMIT, "ETag": f'"{len(body)}"'})
        server.serve(f"/org/name/resolve/{revision}/{stem}.{suffix}", answer)


def asked_for(server: Server) -> list[str]:
    return [path.removeprefix("/org/name/resolve/") for path in server.asked]


def test_a_template_is_of_the_commit_of_the_tokenizer_and_asked_for_once(server: Server) -> None:
    serve(server, tokenizer_json=TOKENIZER)
    serve(server, COMMIT, chat_template_jinja=b"J", tokenizer_config_json=CONFIG)
    resolve_encoding("org/name")
    found = find_templates("org/name")
    assert found.by_name["default"].text == "J"
    assert found.by_name["default"].shown == "org/name/chat_template.jinja"
    assert found.special_tokens == {"bos_token": "<|end|>"}
    asked = asked_for(server)
    assert asked[0] == "main/tokenizer.json"
    assert set(asked[1:]) == {
        f"{COMMIT}/{name}"
        for name in ("chat_template.jinja", "tokenizer_config.json", "chat_template.json", "special_tokens_map.json")
    }
    assert find_templates("org/name", offline=True) == found
    assert asked_for(server) == asked


def test_a_repository_without_a_template_is_asked_once(server: Server) -> None:
    serve(server, tokenizer_json=TOKENIZER)
    resolve_encoding("org/name")
    assert not find_templates("org/name").by_name
    asked = len(server.asked)
    assert not find_templates("org/name").by_name
    assert len(server.asked) == asked


def test_offline_what_was_never_asked_for_is_no_template(server: Server) -> None:
    serve(server, tokenizer_json=TOKENIZER)
    resolve_encoding("org/name")
    with pytest.raises(OfflineError, match="its chat template is not in the cache"):
        find_templates("org/name", offline=True)


def test_the_hubs_own_cache_has_templates(server: Server, environment: Path) -> None:
    folder = environment / "hub" / "models--org--name"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / "main").write_text(COMMIT)
    snapshot = folder / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    (snapshot / "tokenizer.json").write_bytes(TOKENIZER)
    assert not find_templates("org/name", offline=True).by_name
    assert server.asked == []
    (snapshot / "tokenizer_config.json").write_bytes(CONFIG)
    assert find_templates("org/name").by_name["default"].text == "A"
    assert server.asked == []


def test_the_program_counts_with_the_template_of_a_repository(tmp_path: Path) -> None:
    with serving() as plain:
        env = {"HF_ENDPOINT": plain.url("").replace("localhost", "127.0.0.1"), "TOKCLI_OFFLINE": ""}
        plain.serve("/org/name/resolve/main/tokenizer.json", Answer(TOKENIZER))
        said = refused("count", "--chat", "-e", "org/name", data=HI, env=env, cwd=tmp_path)
        assert "org/name has no chat template" in said
        plain.serve("/org/other/resolve/main/tokenizer.json", Answer(TOKENIZER))
        config = {"chat_template": "{{ bos_token }}{{ messages[0].content }}", "bos_token": "<|end|>"}
        plain.serve("/org/other/resolve/main/tokenizer_config.json", Answer(json.dumps(config).encode()))
        out = ok("encode", "--chat", "-e", "org/other", data=HI, env=env, cwd=tmp_path)
    assert out.split()[0] == b"400"
    assert ok("encode", "--chat", "-e", "org/other", "--offline", data=HI, env=env, cwd=tmp_path) == out
