"""What people type first and did not mean: each gets told what to type instead."""

from __future__ import annotations

import os
import pty
import select
import subprocess
from pathlib import Path

import pytest
from support import noted, ok, program, refused, run_tokcli

from tokcli.registry.catalog import CATALOG

COVER = "A pattern must cover all text, each piece at least one character; add an alternative such as `|.` or `|\\s+`."
REGISTERED = f"Registered encodings: {', '.join(CATALOG)}. A path names a file."


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["count", "hello world"],
         "hello world: no such file or directory\nIf this is text, give it with -t 'hello world'."),
        (["decode", "123 456"], "123 456: no such file or directory\nIf these are ids, give them with -t '123 456'."),
        (["decode", "[1,2]"], "[1,2]: no such file or directory\nIf these are ids, give them with -t '[1,2]'."),
        (["count", "nothing.txt"], "nothing.txt: no such file or directory"),
        (["count", "Hello!"], "Hello!: no such file or directory\nIf this is text, give it with -t 'Hello!'."),
        (["encode", "你好，世界"], "你好，世界: no such file or directory\nIf this is text, give it with -t '你好，世界'."),
        (["split", "¿qué?"], "¿qué?: no such file or directory\nIf this is text, give it with -t '¿qué?'."),
        (["encode", "merges"], "merges: no such file or directory\nIf this is text, give it with -t 'merges'."),
        (["count", "2024"], "2024: no such file or directory\nIf this is text, give it with -t '2024'."),
        (["decode", "24912", "2375"],
         "24912: no such file or directory\nIf these are ids, type tokcli decode -t '24912 2375'"),
        (["decode", "-e", "gpt2", "--", "[1,", "2]"],
         "[1,: no such file or directory\nIf these are ids, type tokcli decode -e gpt2 -t '[1, 2]'"),
        (["split", "-m", "gpt-4", "a", "--json", "b", "a"], "a: no such file or directory\n"
         "If these are words of a text, type tokcli split -m gpt-4 --json -t 'a b a'"),
        (["decode", "hello"], "hello: no such file or directory"),
        (["count", "日本語.txt"], "日本語.txt: no such file or directory"),
        (["split", "--pattern-file", "a?"], "a?: no such file or directory"),
        (["encode", "--visualise", "colours"], "colours: no such file or directory\n--visualise takes tokens or merges, "
         "and any other word after it is a FILE: 'colours' is neither."),
        (["count", "-r", "--sort", "size", "--tree"], "size: no such file or directory\n--sort takes name or tokens, "
         "and any other word after it is a FILE: 'size' is neither."),
        (["count", "--tree", "two"], "two: no such file or directory\n--tree takes a number, "
         "and any other word after it is a FILE: 'two' is neither."),
        (["encode", "--visualise", "stack", "-t", "x"], "--text cannot be combined with FILE\n--visualise takes tokens or "
         "merges, and any other word after it is a FILE: 'stack' is neither."),
        (["count", "-t", "x", "stack"], "--text cannot be combined with FILE\nQuote a text of several words: -t 'x stack'"),
        (["count", "-t", "x", "a.txt"], "--text cannot be combined with FILE\nLeave one of them out."),
        *((command, "s3://a/b: no such file or directory\nUrls are opened with --dask ADDRESS, or --dask local.")
          for command in (["count", "s3://a/b"], ["encode", "s3://a/b"])),
        (["split", "s3://a/b"], "s3://a/b: no such file or directory"),
        (["count", "/tmp/no such"], "/tmp/no such: no such file or directory"),
        (["count", "-e", "gpt-4", "-t", "x"], "unknown encoding 'gpt-4'\nIt is a model: use -m gpt-4."),
        (["count", "-e", "GPT-4", "-t", "x"], "unknown encoding 'GPT-4'\nIt is a model: use -m gpt-4."),
        (["count", "-m", "CL100K_BASE", "-t", "x"],
         "no encoding is known for model 'CL100K_BASE'\nIt is an encoding: use -e cl100k_base."),
        (["count", "-m", "o200k_base", "-t", "x"],
         "no encoding is known for model 'o200k_base'\nIt is an encoding: use -e o200k_base."),
        (["count", "-e", "O200K", "-t", "x"], f"unknown encoding 'O200K'; did you mean 'o200k_base'?\n{REGISTERED}"),
        (["split", "--pattern", "CL100K", "-t", "x"],
         "--text: pattern does not match at byte 0: 'x'\n'CL100K' is read as a regex; did you mean 'cl100k_base'?"),
        (["count", "--pattern=o200k", "-t", "x"],
         "--text: pattern does not match at byte 0: 'x'\n'o200k' is read as a regex; did you mean 'o200k_base'?"),
        (["split", "--pattern", "nope", "-t", "x"],
         f"--text: pattern does not match at byte 0: 'x'\n{COVER}"),
        *(([command, *more, "--pattern", "", "-t", "x"],
           f"--text: pattern matches the empty string at byte 0: 'x'\n{COVER}")
          for command, more in (("count", ()), ("encode", ("-e", "gpt2")), ("split", ("--table",)))),
        (["inspect-ranks", ""], "'' is not one token of o200k_base\nName a TOKEN of at least one character."),
        (["inspect-ranks", "--id", "199998"], "199998 is not an id of o200k_base\n"
         "No token has this id, though ids go up to 200018: is this the right encoding?"),
        (["decode", "-t", "200019"], "--text: 200019 is not an id of o200k_base\n"
         "Its largest id is 200018: is this the right encoding?"),
        (["train", "-t", "x", "--vocab-size", "300", "--seed-vocab", "gpt2", "-o", "x"],
         "--vocab-size 300: too small\nIt is at least 50256, the tokens of the vocabulary to begin with."),
        (["train", "-t", "x", "--vocab-size", "300", "--special", "<a>", "--special", "<a>", "-o", "x"],
         "special token '<a>' is given twice\nSpecial tokens must differ."),
        (["train", "-t", "x", "--vocab-size", "300", "--special", "", "-o", "x"],
         "a special token is empty\nName one of at least one character."),
        *((["count", "-m", name, "-t", "x"], f"no encoding is known for model {name!r}\n"
           "List models with tokcli inspect-ranks --models, or name the encoding itself with -e.")
          for name in ("../x", "a/b/c")),
        (["decode", "two words"], "two words: no such file or directory\n"
         "decode takes ids. To encode a text, type tokcli encode -t 'two words'"),
        (["encode", "CL100K_base"], "CL100K_base: no such file or directory\nIt is an encoding: use -e cl100k_base."),
        (["split", "qwen3:8b"], "qwen3:8b: no such file or directory\nIt is a model: use -m qwen3:8b."),
        (["24912", "2375"], "there is no command '24912'\nIf these are ids, type tokcli decode -t '24912 2375'"),
        (["count", "-t", "a", "-t", "b"], "--text is given twice\nGive it once."),
        (["encode", "-m", "a", "-m", "b"], "--model is given twice\nGive it once; `tokcli count` takes several."),
        (["inspect-ranks", "cl100k_base"], "'cl100k_base' is not one token of o200k_base\n"
         "It is encoded as 4: 565 1353 74 17096. To look at that vocabulary, name it with -e cl100k_base."),
        (["inspect-ranks", "qwen3"], "'qwen3' is not one token of o200k_base\n"
         "It is encoded as 3: 80 11027 18. To look at that vocabulary, name it with -e qwen3."),
        (["inspect-ranks", "gpt-4o"], "'gpt-4o' is not one token of o200k_base\n"
         "It is encoded as 5: 70 555 12 19 78. To look at that vocabulary, name it with -m gpt-4o."),
    ],
)  # fmt: skip
def test_a_first_mistake_is_told_what_to_type(
    given: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert refused(*given) == f"Error: {said}\n"


def test_words_of_a_text_are_told_the_whole_line_once(tmp_path: Path) -> None:
    ran = run_tokcli("count", "hello", "world", cwd=tmp_path)
    assert (ran.status, ran.out) == (2, b"0 total\n")
    assert ran.err == (
        "Error: hello: no such file or directory\n"
        "If these are words of a text, type tokcli count -t 'hello world'\n"
        "Error: world: no such file or directory\n"
    )
    (tmp_path / "world").touch()
    assert "'hello'." in run_tokcli("count", "hello", "world", cwd=tmp_path).err


@pytest.mark.parametrize(
    ("name", "typed"),
    [
        ("truncate", "encode -n N --as-text FILE"),
        ("chunk", "encode --chunk N FILE"),
        ("compare", "encode --compare ENCODING,ENCODING FILE"),
        ("tokenize", "encode FILE"),
        ("detokenize", "decode FILE"),
        ("version", "--version"),
        ("models", "inspect-ranks --models"),
        ("find", "inspect-ranks TOKEN, or tokcli inspect-ranks --grep REGEX"),
        ("wc", "count FILE"),
        ("cost", "count --price P FILE"),
        ("export", "inspect-ranks -e NAME|PATH --export FORMAT -o FILE"),
        ("visualize", "encode --visualise FILE"),
    ],
)
def test_a_command_of_other_programs_is_told_what_it_is_here(name: str, typed: str) -> None:
    said = f"Error: there is no command {name!r}\nType tokcli {typed}.\n"
    assert refused(name) == refused(name, "--json", "x") == refused("help", name) == said


def test_help_as_a_command_is_the_option() -> None:
    assert ok("help") == ok("help", "help") == ok("--help")
    assert ok("help", "count") == ok("count", "--help")
    assert "there is no command 'cuont'" in refused("help", "cuont")


@pytest.mark.parametrize("spaced", [["--visualise", "merges"], ["--visualize", "tokens"]])
def test_a_choice_may_follow_after_a_space_where_no_file_has_its_name(spaced: list[str], tmp_path: Path) -> None:
    option, choice = spaced
    assert ok("encode", option, choice, data=b"ab", cwd=tmp_path) == ok("encode", f"{option}={choice}", data=b"ab")
    (tmp_path / choice).write_bytes(b"xyz")
    assert ok("encode", option, choice, cwd=tmp_path) == ok("encode", "--visualise", data=b"xyz")


def test_a_number_may_follow_tree_after_a_space(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.txt").write_bytes(b"x")
    one = ok("count", "-r", "--tree=1", cwd=tmp_path)
    assert ok("count", "-r", "--tree", "1", cwd=tmp_path) == one != ok("count", "-r", "--tree", cwd=tmp_path)
    (tmp_path / "1").write_bytes(b"y")
    assert ok("count", "--tree", "1", "a", "-r", cwd=tmp_path) == ok(
        "count", "-r", "--tree", "--", "1", "a", cwd=tmp_path
    )


def test_a_list_of_lines_is_told_to_have_nuls(tmp_path: Path) -> None:
    (tmp_path / "names").write_bytes(b"a.txt\nb.txt\n")
    words = refused("count", "--files0-from", tmp_path / "names")
    assert "\nRead names from lines with --files-from; " in words


@pytest.mark.parametrize(
    "given",
    [["count", "x" * 500], ["count", "a " * 250], ["count", "-e", "x" * 500], ["count", "-m", "y " * 500],
     ["inspect-ranks", "--hex", "x" * 500], ["encode", "--shards", "ids", "--shard-of", "x" * 500],
     ["count", "-t", "a", "-o", "x" * 500], ["encode", "-t", "a", "--html", "x" * 500]],
)  # fmt: skip
def test_what_was_typed_is_repeated_up_to_80_characters(given: list[str]) -> None:
    words = refused(*given, data=b"")
    assert given[-1][:80] in words
    assert given[-1][:82] not in words


NOTE = b"Note: reading from the terminal; Ctrl-D at the beginning of a line ends the text\n"


@pytest.mark.clock
@pytest.mark.parametrize(("options", "seconds", "note"), [([], 30, NOTE), (["-q"], 3, b""), ([], 0, b"")])
def test_a_terminal_that_nobody_types_at_gets_one_note(options: list[str], seconds: float, note: bytes) -> None:
    master, slave = pty.openpty()
    with subprocess.Popen(
        [*program(), "count", *options], stdin=slave, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        os.close(slave)
        assert process.stderr is not None
        noted = bool(select.select([process.stderr], [], [], seconds)[0])  # then somebody types
        os.write(master, b"hello world\n\x04")
        answer, words = process.communicate(timeout=30)
    os.close(master)
    assert (answer, words, noted) == (b"3\n", note, bool(note))


def test_a_model_and_an_encoding_that_are_asked_for_right_are_taken() -> None:
    assert ok("count", "-m", "gpt-4", "-t", "hello") == ok("count", "-e", "cl100k_base", "-t", "hello")


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["notes.txt"], "Type tokcli count notes.txt"),
        (["."], "Type tokcli count ."),
        (["hello world", "-q"], "Type tokcli count -t 'hello world' -q"),
        (["-t", "hello world"], "Name a command first, for instance tokcli count -t 'hello world'"),
        (["-m", "gpt-4o", "notes.txt"], "Name a command first, for instance tokcli count -m gpt-4o notes.txt"),
        (["--model", "gpt-4o", "encode", "notes.txt"],
         "Options come after the command: tokcli encode --model gpt-4o notes.txt"),
        (["nothing"], "Try 'tokcli --help'."),
    ],
)  # fmt: skip
def test_a_line_without_a_command_is_told_the_line_with_one(typed: list[str], said: str, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    assert refused(*typed, cwd=tmp_path).splitlines()[1] == said


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["count", "--exclude", "docs"], "-g '!GLOB' with a folder leaves out what matches."),
        (["count", "--type", "py"], "-g '*.py' with a folder reads only such files."),
        (["count", "-l", "x"], "--records lines prints the count of each line."),
        (["count", "--max_tokens", "5"], "--max N exits with 1 above N tokens; tokcli encode -n N --as-text cuts the text."),
        (["encode", "-p", "x"], "-t TEXT gives a text."),
        (["decode", "--ids", "1,2"], "-t IDS gives the ids."),
        (["train", "--input", "x"], "Name the FILE without an option."),
        (["inspect-ranks", "--list"], "Without options, the encodings are listed; --models lists the models."),
        (["split", "--version"], "Type tokcli --version."),
        (["count", "--format", "json"], "--json, --jsonl and --csv choose the form."),
        (["encode", "--stdin"], "Standard input is read where no FILE is named."),
        (["split", "--no-such"], "Try 'tokcli split --help'."),
        (["split", "--csv"], "It is an option of tokcli count and tokcli inspect-ranks."),
        (["decode", "-n", "3"], "It is an option of tokcli encode."),
    ],
)  # fmt: skip
def test_an_option_of_another_program_is_told_what_it_is_here(typed: list[str], said: str) -> None:
    what, hint = refused(*typed).splitlines()
    assert what.startswith("Error: No such option '-") and hint == said


def test_an_option_is_suggested_only_where_it_is_spelled_alike() -> None:
    assert refused("split", "--csv").startswith("Error: No such option '--csv'.\n")
    assert refused("decode", "--jsn").startswith("Error: No such option '--jsn'. Did you mean '--json'?\n")


@pytest.mark.parametrize(
    ("typed", "here"),
    [
        (["encode", "--max_tokens", "2"], ["encode", "-n", "2"]),
        (["encode", "--truncate=2"], ["encode", "-n", "2"]),
        (["encode", "--chunk_size", "2", "--chunk-overlap", "1"], ["encode", "--chunk", "2", "--overlap", "1"]),
        (["count", "--cost", "2.5"], ["count", "--price", "2.5"]),
        (["split", "--explain", "0"], ["split", "--why", "0"]),
        (["count", "--add_special_tokens", "-q"], ["count", "--add-special-tokens", "-q"]),
    ],
)
def test_other_names_of_options_and_underscores_are_taken(typed: list[str], here: list[str]) -> None:
    assert ok(*typed, data=b"one two three") == ok(*here, data=b"one two three")


def test_a_text_that_is_the_name_of_a_file_gets_a_note(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"x")
    said = noted("count", "-t", "a.txt", cwd=tmp_path).err
    assert said == "Note: -t takes a text, and a.txt is a file, too: name it without -t to read it.\n"
    assert ok("count", "-q", "-t", "a.txt", cwd=tmp_path) == ok("count", "-t", "b.txt", cwd=tmp_path) == b"2\n"


def test_a_quoted_glob_and_encodings_joined_or_without_their_ending_are_hinted(tmp_path: Path) -> None:
    assert refused("count", "*.py", cwd=tmp_path).splitlines()[1].endswith("type -g '*.py' .")
    assert "-e gpt2 -e o200k_base." in refused("count", "-e", "gpt2,o200k_base", "-t", "x")
    assert "encode --compare gpt2,o200k_base." in refused("encode", "-e", "gpt2,o200k_base", "-t", "x")
    assert "--compare gpt2,r50k_base" in refused("encode", "--compare", "gpt2", "r50k_base", cwd=tmp_path)
    (tmp_path / "my.tiktoken").touch()
    assert "It is a file: use -e my.tiktoken." in refused("count", "-m", "my.tiktoken", "-t", "x", cwd=tmp_path)
    assert "use -e my.tiktoken." in refused("count", "-e", "my", "-t", "x", cwd=tmp_path)


def test_the_only_member_that_fits_is_named() -> None:
    records = ("--records", "jsonl")
    assert "with --field sequence." in refused("decode", *records, data=b'{"sequence": [1], "n": 1}\n')
    said = refused("count", "--records", "jsonl", data=b'{"content": "a", "n": 1}\n')
    assert "with --field content." in said
    assert "with --field." in refused("count", "--records", "jsonl", data=b'{"a": "a", "b": "b"}\n')


def test_an_npy_file_gets_what_its_name_says(tmp_path: Path) -> None:
    said = noted("encode", "-t", "hello", "-o", "ids.npy", cwd=tmp_path).err
    assert said == "Note: ids.npy: written in --format npy, as its name says.\n"
    assert ok("encode", "-t", "hello", "--format", "npy") == (tmp_path / "ids.npy").read_bytes()


def test_special_tokens_joined_by_commas_are_refused() -> None:
    said = refused("train", "--special", "<a>,<b>", "--vocab-size", "300", "-o", "x", "-t", "x")
    assert "--special '<a>' --special '<b>'" in said


@pytest.mark.parametrize("name", ["ids", "input_ids", "token_ids", "tokens"])
def test_ids_are_decoded_from_the_member_that_other_programs_call_so(name: str) -> None:
    data = b'{"%s": [24912, 2375], "n": 1}\n' % name.encode()
    assert ok("decode", data=data) == b"hello world"
    assert ok("decode", "--records", "jsonl", data=2 * data) == b"hello world\nhello world\n"
    assert ok("decode", data=b'{"input_ids": [1], "ids": [24912]}') == b"hello"
    assert "Name the member with --records jsonl --field x." in refused("decode", data=b'{"x": [24912]}')
