"""What builds the package is what its developers have seen, and packs what they have seen."""

from __future__ import annotations

import importlib.util
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support import ROOT, ok

from tokcli.cli import messages
from tokcli.cli.streams import Input
from tokcli.cli.terminal import reading
from tokcli.engine import backend
from tokcli.errors import TokcliError

PROJECT = (ROOT / "pyproject.toml").read_text("utf-8")


def loaded(name: str) -> Any:
    """Return a module of .ci."""
    spec = importlib.util.spec_from_file_location(name, ROOT / ".ci" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def builder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    """The module that builds the package, in a folder without a repository, over a scikit-build-core that builds nothing."""
    errors = ModuleType("scikit_build_core.errors")
    errors.ScikitBuildError = type("ScikitBuildError", (Exception,), {})  # type: ignore[attr-defined]
    core, build = ModuleType("scikit_build_core"), ModuleType("scikit_build_core.build")
    core.build = build  # type: ignore[attr-defined]
    build.get_requires_for_build_sdist = list  # type: ignore[attr-defined]
    for module in (core, build, errors):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.delenv("TOKCLI_PURE", raising=False)
    monkeypatch.delenv("CXX", raising=False)
    module = loaded("build_backend")
    monkeypatch.setattr(module, "ROOT", tmp_path)
    yield module


def test_each_requirement_of_the_build_is_one_release() -> None:
    requires = re.search(r"^\[build-system\]\nrequires = \[(.*)\]$", PROJECT, re.MULTILINE)
    assert requires is not None
    for requirement in requires[1].split(", "):
        assert re.fullmatch(r'"[a-z-]+==[0-9]+(\.[0-9]+)+"', requirement)


@pytest.mark.skipif(not (ROOT / ".git").exists() or shutil.which("git") is None, reason="asks git")
def test_the_patterns_of_the_source_distribution_match_every_tracked_file(tmp_path: Path) -> None:
    listed = re.search(r"^sdist\.include = \[\n(.*?)^\]$", PROJECT, re.MULTILINE | re.DOTALL)
    assert listed is not None
    (tmp_path / "patterns").write_text("\n".join(re.findall(r'"(.*)",', listed[1])))
    list_files = ["git", "-C", str(ROOT), "ls-files"]
    matching = [*list_files, "-c", "-i", f"--exclude-from={tmp_path / 'patterns'}"]
    tracked, matched = (
        subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
        for command in (list_files, matching)
    )
    assert set(tracked) == set(matched)  # else: write a pattern for it, or a wheel lacks it, too


@pytest.mark.skipif(shutil.which("git") is None, reason="asks git")
def test_the_source_distribution_has_what_git_tracks_and_nothing_else(builder: Any, tmp_path: Path) -> None:
    given: list[dict[str, Any]] = []
    builder.build.build_sdist = lambda folder, settings: given.append(settings) or folder
    (tmp_path / "a [1].py").write_text("")
    (tmp_path / ".env").write_text("SECRET=1")
    assert builder.build_sdist("out", {"x": "y"}) == "out"
    assert given.pop() == {"x": "y"}  # no repository: the patterns of pyproject.toml
    for command in (["init", "-q"], ["add", "a [1].py"]):
        subprocess.run(["git", "-C", str(tmp_path), *command], check=True)
    builder.build_sdist("out", {"x": "y"})
    assert given.pop() == {"x": "y", "sdist.include": [r"/a\ \[1].py"]}


def test_a_build_without_native_code_says_why(builder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[tuple[str | None, str | None]] = []  # whether CMake is used, and the reason that goes with the package

    def build_wheel(folder: str, settings: dict[str, str] | None, metadata: str | None) -> str:
        settings = settings or {}
        written = [name.partition("force-include.")[2] for name in settings if "force-include" in name]
        built.append((settings.get("wheel.cmake"), Path(written[0]).read_text() if written else None))
        if not written:
            raise SystemExit(1)
        return "made.whl"

    builder.build.build_wheel = build_wheel
    monkeypatch.setenv("CXX", "/bin/false")
    assert builder.build_wheel("out") == "made.whl"
    assert built == [(None, None), ("false", "the compiler /bin/false does not compile C++20\n")]
    del built[:]
    monkeypatch.setenv("CXX", "/nowhere/g++ -O1")
    builder.build_wheel("out")
    assert built[1] == ("false", "no compiler /nowhere/g++ -O1 at installation\n")
    del built[:]
    monkeypatch.delenv("CXX")
    monkeypatch.setenv("PATH", "/nowhere")
    builder.build_wheel("out")
    assert built == [("false", "no C++ compiler at installation\n")]
    del built[:]
    monkeypatch.setenv("TOKCLI_PURE", "1")
    builder.build_wheel("out")
    assert built == [("false", "TOKCLI_PURE was set at installation\n")]


def test_the_reason_of_the_build_is_the_one_that_the_program_gives(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("TOKCLI_BACKEND", raising=False)
    monkeypatch.setattr(backend, "REASON", str(tmp_path / "no_native.txt"))
    monkeypatch.setitem(sys.modules, "tokcli.engine._native", None)  # as if it were not there
    backend.native.cache_clear()
    try:
        assert backend.missing() == "not built for this Python"
        (tmp_path / "no_native.txt").write_text("no C++ compiler at installation\n")
        assert backend.missing() == "no C++ compiler at installation"
        monkeypatch.setenv("TOKCLI_BACKEND", "python")  # as asked for: nothing is missing
        assert backend.missing() is None
        monkeypatch.setenv("TOKCLI_BACKEND", "native")
        backend.native.cache_clear()
        with pytest.raises(TokcliError, match="not installed: no C\\+\\+ compiler at installation"):
            backend.native()
    finally:
        backend.native.cache_clear()


AS_BUILT_WITHOUT = """
import sys
sys.modules["tokcli.engine._native"] = None
from tokcli.engine import backend
backend.REASON = sys.argv.pop()
from tokcli.__main__ import main
main()
"""


def test_the_version_of_a_package_that_was_built_without_native_code_says_why(tmp_path: Path) -> None:
    (tmp_path / "no_native.txt").write_text("no C++ compiler at installation\n")
    run = [sys.executable, "-c", AS_BUILT_WITHOUT, "--version", str(tmp_path / "no_native.txt")]
    env = {name: value for name, value in os.environ.items() if name != backend.VARIABLE}
    done = subprocess.run(run, env=env, capture_output=True, text=True, timeout=60)
    assert re.fullmatch(r"tokcli \S+, no native backend: no C\+\+ compiler at installation \(python\)\n", done.stdout)
    assert done.stderr == ""
    assert b"no native" not in ok("--version", env={"TOKCLI_BACKEND": "python"})


def test_a_large_input_notes_once_that_there_is_no_native_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(messages, "_printed", {})
    small, large, more = reading.watched(
        [Input(name=name) for name in "abc"], shows=False, reason="no C++ compiler at installation"
    )
    assert b"".join(small.read(io.BytesIO(bytes(9_999_999)), 1 << 20)) == bytes(9_999_999)
    assert capsys.readouterr().err == ""
    for source in (large, more):
        assert b"".join(source.read(io.BytesIO(bytes(10_000_000)), 1 << 20)) == bytes(10_000_000)
    said = capsys.readouterr().err
    assert said == "Note: this is slow without the native backend (no C++ compiler at installation).\n"


@pytest.fixture(scope="module")
def checker() -> Any:
    """The module that says what is wrong with distributions."""
    return loaded("check_distributions")


def make_wheel(folder: Path, name: str, *more: str, without: str = "/native/") -> Path:
    """Make a wheel with the files that one has to have, and more."""
    pages = [f"tokcli-1.0.data/data/share/man/man1/{page.name}" for page in (ROOT / "completions" / "man1").iterdir()]
    shells = (
        "bash-completion/completions/tokcli",
        "zsh/site-functions/_tokcli",
        "fish/vendor_completions.d/tokcli.fish",
    )
    with zipfile.ZipFile(folder / name, "w") as made:
        made.writestr("tokcli-1.0.dist-info/METADATA", "Project-URL: Homepage, https://example.org/tokcli")
        listed = subprocess.run(["git", "-C", ROOT, "ls-files", "tokcli"], check=True, capture_output=True, text=True)
        package = [
            name
            for name in listed.stdout.splitlines()
            if "/native/" not in name and without not in name and not name.endswith(".md")
        ]
        for file in (*package, *pages, *(f"tokcli-1.0.data/data/share/{shell}" for shell in shells), *more):
            made.writestr(file, "")
    return folder / name


@pytest.mark.skipif(not (ROOT / ".git").exists() or shutil.which("git") is None, reason="asks git")
def test_a_stray_file_of_a_wheel_is_named_before_a_release(checker: Any, tmp_path: Path) -> None:
    def wrong(*more: str, name: str = "cp313-cp313-manylinux_2_17_x86_64", publishes: bool = False, **less: str) -> str:
        path = make_wheel(tmp_path, f"tokcli-1.0-{name}.whl", *more, **less)
        return "; ".join(checker.wrong_with_wheel(path, publishes=publishes))

    library = "tokcli/engine/_native.cpython-313-x86_64-linux-gnu.so"
    assert wrong(library) == ""
    strays = ["tokcli/.env", "tokcli/engine/native/text/text.cc", "nanobind/nb.so", "tokcli.libs/libstdc++.so.6"]
    assert wrong(library, *strays) == "; ".join(f"{stray} is stray" for stray in strays)
    assert wrong(library, without="py.typed") == "tokcli/py.typed is missing"
    assert "one library" in wrong()
    pure = {"name": "py3-none-any"}
    assert wrong("tokcli/engine/no_native.txt", **pure) == ""
    assert "pure Python" in wrong("tokcli/engine/no_native.txt", **pure, publishes=True)
    assert "example.org stands for" in wrong(library, publishes=True)


@pytest.mark.skipif(not (ROOT / ".git").exists() or shutil.which("git") is None, reason="asks git")
def test_an_untracked_file_of_a_source_distribution_is_named_before_a_release(checker: Any, tmp_path: Path) -> None:
    path = tmp_path / "tokcli-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as made:
        for name in ("README.md", ".env"):
            made.addfile(tarfile.TarInfo(f"tokcli-1.0/{name}"))
    found = set(checker.wrong_with_sdist(path))
    assert {".env is not tracked", ".env is hidden", "LICENSE is missing"} <= found
    assert "README.md is missing" not in found


def test_each_action_of_a_workflow_is_pinned_by_its_commit() -> None:
    for path in (ROOT / ".github" / "workflows").iterdir():
        used = re.findall(r"^\s*- uses: (.*)$", path.read_text("utf-8"), re.MULTILINE)
        assert used
        for action in used:
            assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action)


def test_the_steps_of_the_workflow_are_those_of_the_script() -> None:
    script = (ROOT / ".ci" / "release").read_text("utf-8")
    workflow = (ROOT / ".github" / "workflows" / "release.yml").read_text("utf-8")
    steps = set(re.findall(r"bash \.ci/release (\w+)", workflow))
    assert steps == {"sdist", "check"}
    assert steps <= set(re.findall(r"^(\w+)\(\) \{", script, re.MULTILINE))
