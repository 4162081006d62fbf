"""Which files `-r` finds: those that git and ripgrep would, in the order of their paths, whatever the tree is like."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import examples

from tokcli.cli.walk.folder_walk import Choice, FolderWalk
from tokcli.cli.walk.patterns import Patterns
from tokcli.errors import InputError

USER = {"GIT_CONFIG_NOSYSTEM": "1", "HOME": "/nonexistent", "XDG_CONFIG_HOME": "/nonexistent"}


@pytest.fixture(autouse=True)
def no_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GIT_CONFIG_GLOBAL", raising=False)
    for name, value in USER.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty repository, which is the current folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    return tmp_path


def plant(root: Path, **files: str) -> None:
    for name, text in files.items():
        write(root, name, text)


def write(root: Path, name: str, text: str = "x") -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def files(root: str = "", **choice: object) -> list[str]:
    errors: list[InputError] = []
    found = list(FolderWalk(Choice(**choice), errors.append).files(root))  # type: ignore[arg-type]
    assert not errors, list(map(str, errors))
    return found


# --- ignore files -----------------------------------------------------------------------------------------------------


def test_gitignore_files_hold_for_their_folder_and_the_nearest_decides(tree: Path) -> None:
    for name in ("a.log", "keep.log", "src/b.log", "src/deep/c.log", "src/deep/d.txt", "build/x", "src/build/y"):
        write(tree, name)
    write(tree, ".gitignore", "*.log\n!keep.log\n/build/\n")
    write(tree, "src/deep/.gitignore", "!c.log\nd.txt\n")
    assert files() == ["keep.log", "src/build/y", "src/deep/c.log"]


def test_what_is_in_a_folder_that_is_left_out_cannot_come_back(tree: Path) -> None:
    write(tree, "out/keep.txt")
    write(tree, ".gitignore", "out/\n!out/keep.txt\n")
    assert files() == []
    write(tree, ".gitignore", "out/**\n!out/keep.txt\n")
    assert files() == ["out/keep.txt"]


def test_gitignore_counts_in_a_repository_only_and_ignore_everywhere(tree: Path) -> None:
    (tree / ".git").rmdir()
    for name in ("a.txt", "b.txt"):
        write(tree, name)
    write(tree, ".gitignore", "a.txt\n")
    write(tree, ".ignore", "b.txt\n")
    assert files() == ["a.txt"]


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_an_escaped_space_ends_a_pattern_however_the_line_ends(tree: Path, end: str) -> None:
    for name in ("a ", "a", "b"):
        write(tree, name)
    write(tree, ".gitignore", f"a\\ {end}b{end}")
    assert files() == ["a"]


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("a\\   ", ["a", "a\t/x", "b/x", "{a,b}"]),  # the first space is escaped, the others are not there
        ("a\t/", ["a", "a ", "b/x", "{a,b}"]),  # white space before a slash is part of the name
        ("b//", ["a", "a ", "a\t/x", "b/x", "{a,b}"]),  # no name ends with a slash
        ("[a/b]", ["a ", "a\t/x", "{a,b}"]),  # a slash in a class is a character that no name has
        ("/[!/a]", ["a", "a ", "a\t/x", "{a,b}"]),
        ("b/[!/a]", ["a", "a ", "a\t/x", "{a,b}"]),
        ("{a,b}", ["a", "a ", "a\t/x", "b/x"]),  # git knows no braces
    ],
)
def test_odd_lines_of_a_gitignore_mean_what_they_mean_to_git(tree: Path, line: str, left: list[str]) -> None:
    for name in ("a", "a ", "a\t/x", "b/x", "{a,b}"):
        write(tree, name)
    write(tree, ".gitignore", f"{line}\n")
    assert files() == sorted(left)


def test_braces_in_an_ignore_file_stand_for_several_names_as_for_ripgrep(tree: Path) -> None:
    for name in ("a.log", "b.tmp", "c.txt", "d.{log,tmp}"):
        write(tree, name)
    write(tree, ".ignore", "*.{log,tmp}\n{c.txt\n" + "{a,b}" * 12 + "\n")  # and lines whose braces mean nothing
    assert files() == ["c.txt", "d.{log,tmp}"]


def test_ignore_wins_over_gitignore(tree: Path) -> None:
    for name in ("a.txt", "b.txt", "sub/a.txt"):
        write(tree, name)
    write(tree, "sub/.gitignore", "a.txt\n")
    write(tree, ".gitignore", "a.txt\n")
    write(tree, ".ignore", "!a.txt\nb.txt\n")
    assert files() == ["a.txt", "sub/a.txt"]


def test_folders_above_have_a_say_up_to_the_root_of_the_repository(tree: Path) -> None:
    write(tree, "src/deep/a.log")
    write(tree, "src/deep/b.txt")
    write(tree, ".gitignore", "*.log\nsrc/deep/b.txt\n")
    assert files("src") == files("src/deep") == []
    (tree / "src" / ".git").mkdir()
    assert files("src") == ["src/deep/a.log", "src/deep/b.txt"]


def test_a_repository_within_another_has_its_own_rules(tree: Path) -> None:
    write(tree, "sub/a.log")
    write(tree, "sub/b.txt")
    write(tree, ".gitignore", "*.log\n")
    (tree / "sub" / ".git").mkdir()
    assert files() == ["sub/a.log", "sub/b.txt"]


def test_the_repository_s_and_the_user_s_lists_hold(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tree / "home"
    for name in ("a.one", "b.two", "c.txt", "sub/a.one"):
        write(tree, name)
    write(tree, ".git/info/exclude", "*.one\n")
    write(home, ".gitconfig", '[user]\n\tname = x\n[core "y"]\nexcludesfile = no\n[Core]\n\texcludesFile = "~/mine"\n')
    write(home, "mine", "*.two\nhome/\n")
    monkeypatch.setenv("HOME", str(home))
    assert files() == ["c.txt"]
    (home / ".gitconfig").unlink()
    write(home, "config/git/ignore", "c.txt\nhome/\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    assert files() == ["b.two"]


def test_a_worktree_has_the_list_of_its_repository(tree: Path) -> None:
    write(tree, "repo/.git/info/exclude", "*.one\n")
    write(tree, "repo/.git/worktrees/w/commondir", "../..\n")
    write(tree, "w/.git", f"gitdir: {tree}/repo/.git/worktrees/w\n")
    write(tree, "w/a.one")
    write(tree, "w/b.two")
    assert files("w") == ["w/b.two"]


def test_no_ignore_and_hidden_each_lift_one_thing_and_git_s_own_folder_is_never_read(tree: Path) -> None:
    for name in (".git/config", ".hidden", ".dot/a", "_under/b", "c.log"):
        write(tree, name)
    write(tree, ".gitignore", "*.log\n")
    assert files() == ["_under/b"]
    assert files(no_ignore=True) == ["_under/b", "c.log"]
    assert files(hidden=True) == [".dot/a", ".gitignore", ".hidden", "_under/b"]
    assert files(hidden=True, no_ignore=True) == [".dot/a", ".gitignore", ".hidden", "_under/b", "c.log"]
    write(tree, ".gitignore", "*.log\n!.dot\n")
    assert files() == [".dot/a", "_under/b"]


# --- -g ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("globs", "expected"),
    [
        (["*.py"], ["a.py", "src/b.py", "src/left.py"]),
        (["*.py", "!src/*"], ["a.py"]),
        (["!*.py"], ["c.md", "src/d.txt"]),
        (["!src"], ["a.py", "c.md"]),
        (["/a.py"], ["a.py"]),
        (["src/*.txt"], ["src/d.txt"]),
        (["**/src/**"], ["src/b.py", "src/d.txt", "src/left.py"]),
        (["*.{md,txt}"], ["c.md", "src/d.txt"]),
        (["{a,b}.{py,md}"], ["a.py", "src/b.py"]),
        (["?.py", "!a*"], ["src/b.py"]),
        (["[a-b].py"], ["a.py", "src/b.py"]),
        ([".hid*"], [".hidden"]),
        (["\\#x"], []),
        (["#x"], []),
    ],
)
def test_globs_choose_files_over_every_other_rule(globs: list[str], expected: list[str], tree: Path) -> None:
    for name in ("a.py", "c.md", "src/b.py", "src/d.txt", "src/left.py", ".hidden"):
        write(tree, name)
    write(tree, ".gitignore", "left.py\n")
    assert files(globs=tuple(globs)) == expected


def test_globs_are_relative_to_the_current_folder(tree: Path) -> None:
    write(tree, "src/in/a.py")
    write(tree, "src/a.py")
    for root in ("src", "./src", str(tree / "src"), "src/", "../" + tree.name + "/src"):
        assert [Path(path).name for path in files(root, globs=("src/*.py",))] == ["a.py"], root
        assert len(files(root, globs=("src/**/*.py",))) == 2


@pytest.mark.parametrize("glob", ["", "!", "/", "  ", "{a,b}" * 12, "*.{py,md", "*.py}", "a//"])
def test_a_glob_that_means_nothing_is_refused(glob: str) -> None:
    with pytest.raises(InputError):
        FolderWalk(Choice((glob,)), print)


# --- trees ------------------------------------------------------------------------------------------------------------


def test_paths_come_in_their_own_order_and_begin_as_the_folder_was_named(tree: Path) -> None:
    for name in ("b", "a/z", "a.txt", "a/b/c", "ab", "B", "é"):
        write(tree, name)
    assert files() == sorted(files()) == ["B", "a.txt", "a/b/c", "a/z", "ab", "b", "é"]
    assert files("a") == files("a/") == ["a/b/c", "a/z"]
    assert files(".")[0] == "./B"


def test_a_name_that_is_not_utf_8_is_found(tree: Path) -> None:
    name = os.fsdecode(b"caf\xe9.txt")
    write(tree, name)
    write(tree, "line\nbreak")
    write(tree, ".gitignore", "*.log\nline\n")
    assert files() == [name, "line\nbreak"]
    assert files(globs=("caf?.txt",)) == [name]


def test_links_are_followed_only_when_asked_and_loops_end(tree: Path) -> None:
    write(tree, "real/a.txt")
    (tree / "real" / "up").symlink_to(tree)
    (tree / "real" / "self").symlink_to("self")
    (tree / "link").symlink_to("real")
    (tree / "file").symlink_to("real/a.txt")
    assert files() == ["real/a.txt"]
    errors: list[InputError] = []
    found = list(FolderWalk(Choice(follow=True), errors.append).files(""))
    assert found == ["file", "link/a.txt", "real/a.txt"]
    assert sorted(str(error.where) for error in errors) == ["link/self", "real/self"]


def test_only_regular_files_are_found(tree: Path) -> None:
    os.mkfifo(tree / "pipe")
    write(tree, "a")
    write(tree, "out.0123456789ab.tmp")
    assert files() == ["a"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every folder")
def test_a_folder_that_cannot_be_read_is_reported_once(tree: Path) -> None:
    write(tree, "no/a")
    write(tree, "yes/b")
    (tree / "no").chmod(0)
    errors: list[InputError] = []
    assert list(FolderWalk(Choice(), errors.append).files("")) == ["yes/b"]
    assert list(map(str, errors)) == ["no: permission denied"]
    (tree / "no").chmod(0o700)


def test_a_folder_that_is_gone_is_reported() -> None:
    errors: list[InputError] = []
    assert list(FolderWalk(Choice(), errors.append).files("nope")) == []
    assert list(map(str, errors)) == ["nope: no such file or directory"]


def test_a_tree_of_many_levels_is_walked_without_recursion(tree: Path) -> None:
    folder = os.open(tree, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=folder)
        below = os.open("d", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = below
    os.close(os.open("a", os.O_CREAT, dir_fd=folder))
    os.close(folder)
    found = files()
    subprocess.run(["rm", "-r", "d"], check=True)  # pytest would clear it away recursively, and fail
    assert found == ["d/" * 1500 + "a"]


@pytest.mark.clock
def test_a_pattern_of_many_stars_takes_no_time_on_a_long_name() -> None:
    started = time.process_time()
    rules = Patterns(["*a" * 30 + "b", "x/" + "*a*" * 20 + "c"])
    assert rules.verdict("a" * 250, is_folder=False) is None
    assert rules.verdict("x/" + "a" * 250, is_folder=False) is None
    assert rules.verdict("a" * 249 + "b", is_folder=False) is True
    assert time.process_time() - started < 1


def test_a_pattern_that_python_may_read_otherwise_one_day_is_taken_without_a_warning() -> None:
    rules = Patterns(["[[a]b", "[a&&b]", "[a--b]"])  # warnings fail tests
    assert rules.verdict("ab", is_folder=False) is True
    assert rules.verdict("b", is_folder=False) is True


def test_a_question_mark_is_one_byte_of_a_name_as_for_git() -> None:
    rules = Patterns(["b/?", "c/[!a]", "d/é", "e/*"])
    assert [rules.verdict(f"{folder}/é", is_folder=False) for folder in "bcde"] == [None, None, True, True]
    assert rules.verdict("b/x", is_folder=False) is True


# --- git as the oracle ------------------------------------------------------------------------------------------------

NAMES = ("a", "b", "ab", "a.c", "b c", "c#", "!a", "é")
SEGMENT = st.sampled_from(
    [
        "a",
        "b",
        "*",
        "a*",
        "*b",
        "?",
        "**",
        "[ab]",
        "[!a]",
        "a.c",
        "b c",
        "c#",
        "\\!a",
        "é",
        "*.*",
        "[a/b]",
        "{a,b}",
        "***",
        "[^b]",
        "[[:alpha:]]",
        "[]a]",
        "[\\]a]",
        "[b-a]",
        "[a",
    ]
)
PATTERN = st.builds(
    lambda negated, rooted, segments, folder: "!" * negated + "/" * rooted + "/".join(segments) + "/" * folder,
    st.booleans(),
    st.booleans(),
    st.lists(SEGMENT, min_size=1, max_size=3),
    st.booleans(),
)
LINES = st.lists(
    st.one_of(PATTERN, st.sampled_from(["# a", "", "a ", "\\#", "a\\ ", "a\\  ", "a//", " a"])), max_size=5
)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("git") is None, reason="git is the oracle")
@examples(150)
@given(LINES, LINES, LINES)
def test_the_files_are_those_that_git_lists(
    tmp_path_factory: pytest.TempPathFactory, top: list[str], nested: list[str], exclude: list[str]
) -> None:
    root = tmp_path_factory.mktemp("tree")
    git = ["git", "-C", str(root)]
    env = {**os.environ, **USER}
    subprocess.run([*git, "init", "-q"], check=True, env=env)
    for first in NAMES:
        for second in ("a", "b", "a.c"):
            write(root, f"d{first}/{second}")
            write(root, f"a/{first}x/{second}")
        write(root, f"b/{first}") if first != "b" else write(root, "b/b/ab")
    write(root, ".gitignore", "\n".join(top))
    write(root, "a/.gitignore", "\n".join(nested))
    write(root, ".git/info/exclude", "\n".join(exclude))
    listed = subprocess.run([*git, "ls-files", "-zco", "--exclude-standard"], capture_output=True, check=True, env=env)
    expected = sorted(os.fsdecode(name) for name in listed.stdout.split(b"\0") if name)
    found = files(str(root), hidden=True)
    assert [os.path.relpath(path, root) for path in found] == expected
    shutil.rmtree(root)
