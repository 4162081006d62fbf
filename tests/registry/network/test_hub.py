"""Hugging Face ids, against a loopback server and caches of both programs."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from clocks import set_forward
from loopback import Answer, Server, serving
from support import ROOT, ok

from tokcli.errors import InputError, NetworkError, TokcliError, UnknownEncodingError
from tokcli.formats import read
from tokcli.registry.encodings import resolve_encoding
from tokcli.registry.network import download, hub, hub_server, transfer

DATA = ROOT / "tests" / "data" / "formats"
TOKENIZER = (DATA / "byte-level.tokenizer.json").read_bytes()
MODEL = (DATA / "bpe.model").read_bytes()
BYTES = [base64.b64encode(bytes([byte])) for byte in range(256)]
TEKKEN = json.dumps(
    {
        "config": {"pattern": ".", "default_vocab_size": 258, "default_num_special_tokens": 2},
        "vocab": [{"rank": rank, "token_bytes": token.decode()} for rank, token in enumerate(BYTES)],
    }
).encode()
COMMIT, LATER = "ab" * 20, "cd" * 20
VARIABLES = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_TOKEN_PATH", "HF_HUB_OFFLINE", "HF_HUB_CACHE",
             "HUGGINGFACE_HUB_CACHE", "HF_HUB_DISABLE_IMPLICIT_TOKEN")  # fmt: skip


@pytest.fixture(autouse=True)
def environment(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The hub is the loopback server, and its cache an empty folder, which is returned."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_ENDPOINT", server.url(""))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setattr(transfer, "PAUSE_S", 0.01)
    return tmp_path / "hf"


def serve(server: Server, name: str, body: bytes, revision: str = "main", commit: str = COMMIT) -> None:
    headers = {"X-Repo-Commit": commit, "ETag": f'"{hashlib.sha256(body).hexdigest()}"'}
    server.serve(f"/org/name/resolve/{revision}/{name}", Answer(body, headers=headers))


def snapshot(home: Path, files: dict[str, bytes], commit: str = COMMIT, ref: str = "main") -> None:
    """Files in the hub's own cache, as its library lays them out."""
    folder = home / "hub" / "models--org--name"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / ref).write_text(commit)
    (folder / "blobs").mkdir()
    (folder / "snapshots" / commit).mkdir(parents=True)
    for name, data in files.items():
        blob = folder / "blobs" / hashlib.sha256(data).hexdigest()
        blob.write_bytes(data)
        (folder / "snapshots" / commit / name).symlink_to(Path("..", "..", "blobs", blob.name))


# --- what is fetched -------------------------------------------------------------------------------------------------


def test_a_repository_gives_the_ids_of_its_tokenizer_json(server: Server) -> None:
    serve(server, "tokenizer.json", TOKENIZER)
    serve(server, "tokenizer.model", MODEL)
    encoding = resolve_encoding("org/name")
    assert encoding.name == "org/name"
    assert encoding.encode_ordinary("hello") == resolve_encoding(
        str(DATA / "byte-level.tokenizer.json")
    ).encode_ordinary("hello")
    assert server.asked == ["/org/name/resolve/main/tokenizer.json"]


def test_without_one_its_sentencepiece_model_is_taken(server: Server) -> None:
    serve(server, "spiece.model", MODEL)
    assert resolve_encoding("org/name").n_vocab == resolve_encoding(str(DATA / "bpe.model")).n_vocab
    asked = [path.rpartition("/")[2] for path in server.asked]
    assert asked == ["tokenizer.json", "tekken.json", "tokenizer.model", "spiece.model"]


def test_mistrals_repositories_may_have_tekken_json_only(server: Server) -> None:
    serve(server, "tekken.json", TEKKEN)
    serve(server, "tokenizer.model", MODEL)
    encoding = resolve_encoding("org/name")
    assert (encoding.encode_ordinary("a b"), encoding.n_vocab) == ([2 + 97, 2 + 32, 2 + 98], 258)
    assert resolve_encoding("org/name", offline=True).encode_ordinary("a") == [2 + 97]


def test_kimis_repositories_have_ranks_and_a_configuration(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    ranks = b"".join(b"%b %d\n" % (token, rank) for rank, token in enumerate(BYTES))
    monkeypatch.setattr(read, "KIMI_SHA256", hashlib.sha256(ranks).hexdigest())
    serve(server, "tiktoken.model", ranks)
    serve(server, "tokenizer_config.json", b'{"added_tokens_decoder": {"256": {"content": "[BOS]"}}}', COMMIT)
    encoding = resolve_encoding("org/name")
    assert encoding.encode("[BOS]a", allowed_special="all") == [256, 97]
    assert encoding.n_vocab == 512
    assert server.asked[-1] == f"/org/name/resolve/{COMMIT}/tokenizer_config.json"


def test_both_files_of_a_pair_are_of_one_commit(server: Server) -> None:
    from tokcli.engine.bpe.byte_alphabet import byte_alphabet

    vocab = json.dumps({**byte_alphabet(), "ab": 256}).encode()
    serve(server, "vocab.json", vocab)
    serve(server, "merges.txt", b"#version: 0.2\na b\n", revision=COMMIT)
    assert resolve_encoding("org/name").encode_ordinary("ab") == [256]
    assert server.asked[-2:] == [
        f"/org/name/resolve/{COMMIT}/{name}" for name in ("merges.txt", "tokenizer_config.json")
    ]


def test_a_revision_is_asked_for_by_its_name(server: Server) -> None:
    serve(server, "tokenizer.json", TOKENIZER, revision="refs%2Fpr%2F1")
    assert resolve_encoding("org/name@refs/pr/1").name == "org/name@refs/pr/1"


def test_the_program_reads_a_hub_on_this_machine_over_http(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving() as plain:
        plain.serve("/org/name/resolve/main/tokenizer.json", Answer(TOKENIZER))
        env = {"HF_ENDPOINT": plain.url("").replace("localhost", "127.0.0.1")}
        out = ok("count", "-e", "org/name", "-t", "hello", env=env | {"TOKCLI_OFFLINE": ""}, cwd=tmp_path)
    assert ok("count", "-e", "org/name", "-t", "hello", "--offline", env=env, cwd=tmp_path) == out


@pytest.mark.parametrize("url", ["http://example.org", "http://127.0.0.1.example.org"])
def test_http_to_other_machines_is_refused(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", url)
    with pytest.raises(NetworkError, match="only https urls"):
        resolve_encoding("org/name")


def test_a_redirect_to_http_is_refused(server: Server) -> None:
    server.serve("/org/name/resolve/main/tokenizer.json", Answer(status=302, headers={"Location": "http://10.0.0.1/x"}))
    with pytest.raises(NetworkError, match="only https urls"):
        resolve_encoding("org/name")


@pytest.mark.parametrize("location", ["https://[::1", "https://localhost:99999999/", "https://localhost:a/"])
def test_a_redirect_to_what_is_no_url_is_an_error(location: str, server: Server) -> None:
    server.serve("/org/name/resolve/main/tokenizer.json", Answer(status=302, headers={"Location": location}))
    with pytest.raises(NetworkError):
        resolve_encoding("org/name")


def test_large_files_are_checked_by_the_sha256_that_the_hub_tells(server: Server) -> None:
    link = {"X-Linked-ETag": f'"{"0" * 64}"', "Location": "/elsewhere", "X-Repo-Commit": COMMIT}
    server.serve("/org/name/resolve/main/tokenizer.json", Answer(status=302, headers=link))
    server.serve("/elsewhere", Answer(TOKENIZER))
    with pytest.raises(NetworkError, match="its SHA-256 is not 0000"):
        resolve_encoding("org/name")


def test_a_file_above_the_limit_is_refused(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_server, "ask", lambda url, **given: download.ask(url, **given, limit=100))
    serve(server, "tokenizer.json", TOKENIZER)
    with pytest.raises(NetworkError, match="more than the limit of 100"):
        resolve_encoding("org/name")


# --- tokens ----------------------------------------------------------------------------------------------------------


def test_the_token_goes_to_the_hub_and_to_no_host_that_it_redirects_to(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    elsewhere = server.url("/far").replace("localhost", "127.0.0.1")
    server.serve("/org/name/resolve/main/tokenizer.json", Answer(status=307, headers={"Location": "/near"}))
    server.serve("/near", Answer(status=302, headers={"Location": elsewhere}))
    with pytest.raises(NetworkError):  # the certificate is for localhost only
        resolve_encoding("org/name")
    assert server.authorizations == ["Bearer hf_secret"] * 2
    port = re.sub(r":(\d+)", ":1", server.url("/far"))
    server.serve("/near", Answer(status=302, headers={"Location": port}))
    with pytest.raises(NetworkError):
        resolve_encoding("org/name")


@pytest.mark.parametrize("url", ["https://localhost:1/", "http://localhost/", "https://other/", "https://localhost.b/"])
def test_a_token_is_for_one_scheme_host_and_port(url: str) -> None:
    job = transfer.Transfer("https://localhost/a", 1, 1, None, token="hf_secret")

    for asked, expected in (("https://localhost:443/b", {"Authorization": "Bearer hf_secret"}), (url, {})):
        request: Any = SimpleNamespace(url=asked, headers={})
        assert job.authorize(request).headers == expected


def test_the_token_of_a_login_is_sent_unless_that_is_forbidden(
    server: Server, environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment.mkdir()
    (environment / "token").write_text("hf_kept\n")
    serve(server, "tokenizer.json", TOKENIZER)
    resolve_encoding("org/name")
    monkeypatch.setenv("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1")
    serve(server, "tokenizer.json", TOKENIZER, revision="v2")
    resolve_encoding("org/name@v2")
    assert server.authorizations == ["Bearer hf_kept", None]


def test_a_token_of_other_characters_is_refused_and_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret\r\nX: y")
    with pytest.raises(InputError) as caught:
        resolve_encoding("org/name")
    assert str(caught.value).startswith("HF_TOKEN holds no token")
    assert "hf_secret" not in str(caught.value)


def test_a_file_that_holds_no_token_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "token"
    path.write_bytes(b"hf_secret of mine\n")
    monkeypatch.setenv("HF_TOKEN_PATH", str(path))
    with pytest.raises(InputError) as caught:
        resolve_encoding("org/name")
    assert str(caught.value).startswith(f"{path} holds no token")
    assert "hf_secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("status", "code", "token", "what", "hint"),
    [
        (401, "GatedRepo", None, "gated", "HF_TOKEN"),
        (403, "GatedRepo", "hf_x", "gated", "Accept its terms"),
        (401, "RepoNotFound", None, "no such repository, or a private one", "HF_TOKEN"),
        (404, "RepoNotFound", "hf_x", "no such file, and no such repository on", "Check the name."),
        (404, "RevisionNotFound", None, "no revision 'main'", "branch, a tag or a commit"),
        (401, "", None, r"access denied \(status 401\)", "gated, private or missing"),
        (403, "", "hf_x", r"access denied \(status 403\)", "gives no access"),
        (418, "", None, "418", ""),
    ],
)
def test_what_the_hub_refuses_is_explained(
    status: int, code: str, token: str | None, what: str, hint: str, server: Server,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    if token:
        monkeypatch.setenv("HF_TOKEN", token)
    headers = {"X-Error-Code": code} if code else {}
    server.serve("/org/name/resolve/main/tokenizer.json", Answer(status=status, headers=headers))
    with pytest.raises(NetworkError, match=what) as caught:
        resolve_encoding("org/name")
    assert hint in caught.value.hint
    assert "hf_x" not in caught.value.what + caught.value.hint


def test_a_repository_without_a_tokenizer_may_be_a_misspelt_file(server: Server) -> None:
    with pytest.raises(UnknownEncodingError, match="no such file, and that repository on localhost has none") as caught:
        resolve_encoding("org/name")
    assert "Check the name of the file" in caught.value.hint
    assert len(server.asked) == 7


# --- caches ----------------------------------------------------------------------------------------------------------


def test_the_hubs_own_cache_is_read_and_the_hub_not_asked(server: Server, environment: Path) -> None:
    snapshot(environment, {"tokenizer.json": TOKENIZER})
    resolve_encoding("org/name")
    resolve_encoding(f"org/name@{COMMIT}", offline=True)
    assert server.asked == []


def test_the_hubs_cache_is_where_its_variables_say(
    tmp_path: Path, environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot(environment, {"tokenizer.model": MODEL})
    (environment / "hub").rename(tmp_path / "else")
    with pytest.raises(NetworkError, match="may not be used"):
        resolve_encoding("org/name", offline=True)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "else"))
    assert resolve_encoding("org/name", offline=True).name == "org/name"


@pytest.mark.parametrize("ref", ["../../../x", "", "\udcff", "AB" * 20, "main"])
def test_a_ref_of_the_hubs_cache_that_is_no_commit_is_no_path(ref: str, environment: Path) -> None:
    snapshot(environment, {"tokenizer.json": TOKENIZER})
    file = environment / "hub" / "models--org--name" / "refs" / "main"
    file.write_bytes(ref.encode("utf-8", "surrogateescape"))
    with pytest.raises(NetworkError, match="may not be used"):
        resolve_encoding("org/name", offline=True)


def test_a_second_use_asks_nobody(server: Server) -> None:
    serve(server, "tokenizer.json", TOKENIZER)
    resolve_encoding("org/name")
    resolve_encoding("org/name")
    resolve_encoding("org/name", offline=True)
    assert len(server.asked) == 1


@pytest.mark.parametrize("variable", ["HF_HUB_OFFLINE", "TOKCLI_OFFLINE"])
def test_offline_nothing_is_asked(variable: str, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "1")
    with pytest.raises(NetworkError, match="the network may not be used"):
        resolve_encoding("org/name")
    assert server.asked == []


def test_a_branch_is_asked_for_again_after_a_day(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(server, "tokenizer.json", TOKENIZER)
    before = resolve_encoding("org/name").n_vocab
    set_forward(hub, hub.ASK_AGAIN_S + 1, monkeypatch)
    assert resolve_encoding("org/name").n_vocab == before
    assert len(server.asked) == 2
    resolve_encoding("org/name")
    assert len(server.asked) == 2  # unchanged is good for another day


def test_a_branch_that_moved_is_fetched(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(server, "tokenizer.json", TOKENIZER)
    resolve_encoding("org/name")
    set_forward(hub, hub.ASK_AGAIN_S + 1, monkeypatch)
    other = DATA / "plain.tokenizer.json"
    serve(server, "tokenizer.json", other.read_bytes(), commit=LATER)
    assert resolve_encoding("org/name").n_vocab == resolve_encoding(str(other)).n_vocab


def test_a_branch_that_cannot_be_asked_for_again_is_taken_as_it_was(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(server, "tokenizer.json", TOKENIZER)
    resolve_encoding("org/name")
    set_forward(hub, hub.ASK_AGAIN_S + 1, monkeypatch)
    server.serve("/org/name/resolve/main/tokenizer.json", Answer(status=503))
    notes: list[str] = []
    resolve_encoding("org/name", note=notes.append)
    assert len(notes) == 1
    assert notes[0].endswith("the files that were fetched before are used.")


def test_a_commit_is_never_asked_for_again(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(server, "tokenizer.json", TOKENIZER, revision=COMMIT)
    resolve_encoding(f"org/name@{COMMIT}")
    set_forward(hub, hub.ASK_AGAIN_S + 1, monkeypatch)
    resolve_encoding(f"org/name@{COMMIT}")
    assert len(server.asked) == 1


@pytest.mark.parametrize("damage", [b"", b"{}", b"[]", b'{"files":{"../../x":"00"}}', b"\xff", b"[" * 40_000,
                                    b'{"files": {}, "asked": 1' + b"0" * 400 + b"}"])  # fmt: skip
def test_a_damaged_note_or_file_in_our_cache_is_fetched_anew(damage: bytes, server: Server, cache: Path) -> None:
    serve(server, "tokenizer.json", TOKENIZER)
    resolve_encoding("org/name")
    for path in (cache / "hub").iterdir():
        if path.suffix != ".lock":
            path.write_bytes(damage)
            resolve_encoding("org/name")
    assert len(server.asked) == 3


def test_a_cache_that_cannot_be_used_only_costs_time(server: Server, cache: Path, tmp_path: Path) -> None:
    cache.symlink_to(tmp_path)
    serve(server, "tokenizer.json", TOKENIZER)
    notes: list[str] = []
    resolve_encoding("org/name", note=notes.append)
    assert notes[0].startswith("the cache is not used")


# --- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["org/name/more", "../name", "org/..", "/org/name", "org/name@../../x", "org/na--me",
                                  "org/name@", "org/name@a//b", "org/name@a/", "o rg/name", "org/name@x y", "org\n/name",
                                  "org/name\n", "org/-name", "org/name.", "org/%2e%2e", "org/n\u00e4me", "./name",
                                  "ranks/missing.tiktoken", "folder/tokenizer.json", "org\\name/x", "~/name"])  # fmt: skip
def test_what_is_no_id_is_a_file_that_is_not_there(name: str, server: Server) -> None:
    with pytest.raises(UnknownEncodingError, match=r"no such file|unknown encoding"):
        resolve_encoding(name)
    assert server.asked == []


def test_a_file_that_is_missing_in_a_folder_that_is_there_is_no_id(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "org").mkdir()
    with pytest.raises(UnknownEncodingError, match="no such file"):
        resolve_encoding("org/name")
    assert server.asked == []


@pytest.mark.parametrize("url", ["ftp://x", "nonsense", "https://", "https://host?q"])
def test_an_endpoint_that_is_no_server_is_an_error(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", url)
    with pytest.raises(TokcliError, match="HF_ENDPOINT"):
        resolve_encoding("org/name")
