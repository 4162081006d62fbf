"""Each shell completes what may stand at the cursor: commands, options, values after a space or `=`, and files."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from shells import Shell
from support import ROOT, first_in_gate, ok, program

SCRIPTS = {"bash": "tokcli.bash", "zsh": "_tokcli", "fish": "tokcli.fish"}
SHELLS = tuple(SCRIPTS)
# what is typed before the tab -> the line afterwards, where one thing fits; fish's lines are made by `fish_line`
NAMES = {
    "tokcli co": "tokcli count ",
    "tokcli help spl": "tokcli help split ",
    "tokcli --vers": "tokcli --version ",
    "tokcli --completion z": "tokcli --completion zsh ",
    "tokcli count --enc": "tokcli count --encoding ",
    "tokcli encode --visualiz": "tokcli encode --visualize ",
    "tokcli count -t 'a b' --bud": "tokcli count -t 'a b' --budget ",
    "LC_ALL=C tokcli count --bud": "LC_ALL=C tokcli count --budget ",
    "true; true | tokcli deco": "true; true | tokcli decode ",
}
VALUES = {
    "tokcli encode --visualise=mer": "tokcli encode --visualise=merges ",
    "tokcli encode --visualise mer": "tokcli encode --visualise merges ",
    "tokcli count --sort=n": "tokcli count --sort=name ",
    "tokcli count --records jso": "tokcli count --records jsonl ",
    "tokcli count -e o200k_b": "tokcli count -e o200k_base ",
    "tokcli count -eo200k_b": "tokcli count -eo200k_base ",
    "tokcli count --encoding=o200k_b": "tokcli count --encoding=o200k_base ",
    "tokcli count -m gpt-oss:2": "tokcli count -m gpt-oss:20b ",
    "tokcli count -m QWQ-32B-": "tokcli count -m qwq-32b-preview ",
    "tokcli split --diff cl": "tokcli split --diff cl100k_base ",
    "tokcli inspect-ranks --diff gpt2 cl": "tokcli inspect-ranks --diff gpt2 cl100k_base ",
    "tokcli train --seed-vocab=cl": "tokcli train --seed-vocab=cl100k_base ",
    "tokcli count --allow-special '<|endoft": "tokcli count --allow-special '<|endoftext|>' ",
    "tokcli count -e gpt2 --allow-special=": "tokcli count -e gpt2 --allow-special='<|endoftext|>' ",
}
PATHS = {
    "tokcli count -e gpt2 some-f": "tokcli count -e gpt2 some-file ",
    "tokcli count my\\ f": "tokcli count my\\ file ",
    "tokcli encode --html=my\\ f": "tokcli encode --html=my\\ file ",
    "tokcli count 'my f": "tokcli count 'my file' ",
    "tokcli count ~/some-f": "tokcli count ~/some-file ",
    "tokcli count -o $HOME/some-f": "tokcli count -o $HOME/some-file ",
    "tokcli count --output=~/some-f": "tokcli count --output=~/some-file ",
    "tokcli train --seed-vocab some-f": "tokcli train --seed-vocab some-file ",
    "tokcli count -- --fi": "tokcli count -- --file ",
    "tokcli encode --shards so": "tokcli encode --shards some-dir/",
    "tokcli encode --shards=so": "tokcli encode --shards=some-dir/",
    "tokcli encode --visualise my": "tokcli encode --visualise my\\ file ",
    "tokcli count a:": "tokcli count a:b ",
    "tokcli count < some-f": "tokcli count < some-file ",
}
LISTS = {
    "tokcli encode --compare o200k_base,cl": "tokcli encode --compare o200k_base,cl100k_base",
    "tokcli encode --compare=o200k_base,cl": "tokcli encode --compare=o200k_base,cl100k_base",
    "tokcli encode --compare=o200k_base,some-f": "tokcli encode --compare=o200k_base,some-file",
}
NOTHING = (
    "tokcli count --max ",
    "tokcli count -t ",
    "tokcli bench ",
    "tokcli count --nosuch=",
    "tokcli help count ",
    "tokcli inspect-ranks wor",
)
TABLES = {"names": NAMES, "values": VALUES, "paths": PATHS}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with files, and with the program in `bin`."""
    folder = tmp_path_factory.mktemp("completions")
    for name in ("some-file", "my file", "--file", "a:b"):
        (folder / name).touch()
    (folder / "some-dir").mkdir()
    (folder / "bin").mkdir()
    wrapper = folder / "bin" / "tokcli"
    wrapper.write_text(f'#!/bin/sh\nexec {shlex.join(program())} "$@"\n')
    wrapper.chmod(0o755)
    return folder


def environment(folder: Path) -> dict[str, str]:
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "HOME": str(folder), "TERM": "dumb", "PS1": "$ ", "HISTFILE": "/dev/null"}


def needs(shell: str) -> str:
    """Its path; without it the test is skipped, but not in CI."""
    path = shutil.which(shell)
    if path is None and "CI" not in os.environ:
        pytest.skip(f"{shell} is not installed")
    assert path is not None
    return path


@contextmanager
def started(shell: str, folder: Path, *, setup: str = "") -> Iterator[Shell]:
    """A shell that has loaded its completions, by the command in the help or else by `setup`."""
    line = [needs("bash"), "--norc", "--noprofile", "-i"] if shell == "bash" else [needs("zsh"), "-f", "-i"]
    opened = Shell(line, setup or f'eval "$(tokcli --completion {shell})"', folder, environment(folder))
    try:
        yield opened
    finally:
        opened.close()


def fish_words(keys: str, folder: Path) -> list[str]:
    """The lines that fish offers: a word, and its description after a tab."""
    code = 'tokcli --completion fish | source; complete --do-complete "$argv[1]"'
    line = [needs("fish"), "--no-config", "-c", code, keys]
    ran = subprocess.run(line, cwd=folder, env=environment(folder), capture_output=True, text=True, timeout=60)
    assert ran.stderr == ""
    return ran.stdout.splitlines()


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("name", ["bash", "zsh"])
def test_the_one_thing_that_fits_is_completed(name: str, table: str, folder: Path) -> None:
    with started(name, folder) as shell:
        found = {keys: shell.completed(keys) for keys in TABLES[table]}
    wanted = dict(TABLES[table])
    if name == "zsh":  # which has quotes of its own
        wanted = {keys: line.replace("='<|endoftext|>'", "=\\<\\|endoftext\\|\\>") for keys, line in wanted.items()}
    assert found == wanted


@pytest.mark.parametrize("keys", first_in_gate([key for table in (*TABLES.values(), LISTS) for key in table], 12))
def test_fish_offers_the_one_thing_that_fits(keys: str, folder: Path) -> None:
    line = next(table[keys] for table in (*TABLES.values(), LISTS) if keys in table)
    words = [word.partition("\t")[0] for word in fish_words(keys, folder)]
    if keys.endswith(":"):  # fish itself completes any file after a colon, too, as in lists of paths
        assert shlex.split(line)[-1] in words
    else:
        assert words == shlex.split(line)[-1:]


@pytest.mark.parametrize(("name", "after"), [("bash", ""), ("zsh", ",")])
def test_a_list_goes_on_after_a_comma(name: str, after: str, folder: Path) -> None:
    with started(name, folder) as shell:
        assert [shell.completed(keys) for keys in LISTS][:2] == [line + after for line in LISTS.values()][:2]


@pytest.mark.parametrize("name", ["bash", "zsh"])
def test_nothing_is_completed_where_anything_may_stand(name: str, folder: Path) -> None:
    with started(name, folder) as shell:
        for keys in NOTHING:
            line, shown = shell.shown(keys)
            assert line == keys
            assert "Error" not in shown


def test_fish_offers_nothing_where_anything_may_stand(folder: Path) -> None:
    assert [fish_words(keys, folder) for keys in NOTHING] == [[]] * len(NOTHING)


# two options whose help has commas
SENTENCES = (
    "Write ids as text, json, u16, u32 or npy.",
    "Show the tokens, or every merge, in colour.",
)


@pytest.mark.parametrize("name", ["bash", "zsh"])
def test_options_are_listed_with_their_whole_help(name: str, folder: Path) -> None:
    with started(name, folder) as shell:
        _, shown = shell.shown("tokcli encode --fo", tabs=2)
    assert SENTENCES[0] in shown


def test_fish_lists_options_with_their_whole_help(folder: Path) -> None:
    words = fish_words("tokcli encode --", folder)
    assert f"--format\t{SENTENCES[0]}" in words
    assert f"--visualise\t{SENTENCES[1]}" in words


@pytest.mark.parametrize("name", ["bash", "zsh"])
def test_a_value_that_may_be_left_out_is_listed_beside_files(name: str, folder: Path) -> None:
    with started(name, folder) as shell:
        _, shown = shell.shown("tokcli encode --visualise ", tabs=2)
    assert {"tokens", "merges", "some-file", "some-dir/"} <= set(shown.split())


BREAKS = {"as bash has them": "", "without = and :": "COMP_WORDBREAKS=${COMP_WORDBREAKS//[=:]/}; "}
BASH_COMPLETION = Path("/usr/share/bash-completion/bash_completion")


@pytest.mark.parametrize("breaks", BREAKS)
def test_bash_completes_with_any_word_breaks(breaks: str, folder: Path) -> None:
    keys = ("tokcli encode --visualise=mer", "tokcli encode --html=my\\ f", "tokcli count a:")
    with started("bash", folder, setup=f'{BREAKS[breaks]}eval "$(tokcli --completion bash)"') as shell:
        assert [shell.completed(key) for key in keys] == [{**VALUES, **PATHS}[key] for key in keys]


@pytest.mark.skipif(not BASH_COMPLETION.exists(), reason="bash-completion is not installed")
def test_bash_completion_finds_what_is_installed(folder: Path) -> None:
    share = folder / "share" / "bash-completion" / "completions"
    share.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "completions" / "tokcli.bash", share / "tokcli")
    with started("bash", folder, setup=f"XDG_DATA_DIRS={folder}/share; source {BASH_COMPLETION}") as shell:
        assert shell.completed("tokcli encode --visualise=mer") == "tokcli encode --visualise=merges "
        assert shell.completed("tokcli count my\\ f") == "tokcli count my\\ file "


def test_zsh_finds_what_is_installed(folder: Path) -> None:
    setup = f"fpath=({shlex.quote(str(ROOT / 'completions'))} $fpath); autoload -Uz compinit; compinit -u -D"
    with started("zsh", folder, setup=setup) as shell:
        assert shell.completed("tokcli encode --visualise=mer") == "tokcli encode --visualise=merges "


def test_the_committed_scripts_are_those_of_the_program() -> None:
    tool = ROOT / "tests" / "tools" / "make_completions.py"
    ran = subprocess.run([sys.executable, tool, "--check"], capture_output=True, text=True, cwd=ROOT)
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize("shell", SHELLS)
def test_the_program_prints_the_script_of_a_shell(shell: str) -> None:
    assert ok("--completion", shell) == (ROOT / "completions" / SCRIPTS[shell]).read_bytes()
