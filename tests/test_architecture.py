"""The house is as CONTRIBUTING draws it: imports point down, no circles, files and folders of a readable size."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from source_tree import (
    PACKAGE,
    Import,
    all_imports,
    circles,
    folders,
    imports_of,
    is_package,
    modules,
    source_of,
    sources,
    statements_in_functions,
    tree_of,
)
from support import ROOT

from tokcli.engine import backend

# who may import whom: each layer, and all that it may use
LAYERS = {
    "cli": {
        "render",
        "analysis",
        "training",
        "cluster",
        "registry",
        "chat_templates",
        "formats",
        "engine",
        "atomic",
        "errors",
        "vocab",
    },
    "render": {"analysis", "engine", "errors"},
    "analysis": {"engine", "errors"},
    "training": {"cluster", "engine", "errors"},
    "cluster": {"engine", "errors"},
    "registry": {"chat_templates", "formats", "engine", "atomic", "errors", "vocab"},
    "chat_templates": {"formats", "engine", "errors"},
    "formats": {"engine", "errors"},
    "engine": {"errors"},
    "vocab": set(),
    "atomic": set(),  # files replaced whole or not at all: a leaf
    "errors": set(),
}
PUBLIC = {
    "__init__",
    "__main__",
    "_educational",
    "load",
    "model",
    "core",
    "saving",
}  # they name what users import, from any layer

# inside the engine: each row may import the rows below it, and its own as long as there is no circle
ENGINE = [
    {"chunking"},
    {"encoding", "encoding_vocabulary", "files"},
    {"sampling"},
    {"tokenizer", "roles", "bindings", "long_texts"},
    {"pipeline", "sentencepiece", "llama_cpp", "minbpe", "tiktoken"},
    {"executor"},
    {"text_tokenizer"},
    {"native_models"},
    {"token_vocabulary"},
    {"bpe"},
    {"stream"},
    {"pretokenizers"},
    {"unicode"},
    {"tokens"},
    {"backend"},
    {"_native", "reference"},
    {"base", "spec"},
]
ENGINE_MAY_NOT = {"click", "rich", "requests", "platformdirs", "filelock"}

GUIDE = ROOT / "CONTRIBUTING.md"


def layer_of(module: str) -> str:
    return (module.split(".") + ["__init__"])[1]


def broken_layers() -> set[str]:
    return {
        f"layer {found}"
        for found in all_imports()
        if found.is_ours and layer_of(found.importer) not in PUBLIC and layer_of(found.target) not in PUBLIC
        if layer_of(found.target) not in LAYERS[layer_of(found.importer)] | {layer_of(found.importer)}
    }


def broken_order() -> set[str]:
    row = {package: n for n, packages in enumerate(ENGINE) for package in packages}
    within = [f for f in all_imports() if f.importer.count(".") > 1 and f.target.count(".") > 1]
    return {
        f"order {found}"
        for found in within
        if found.importer.startswith("tokcli.engine.") and found.target.startswith("tokcli.engine.")
        if row[found.importer.split(".")[2]] > row[found.target.split(".")[2]]
    }


def broken_circles() -> set[str]:
    graph = {m: {f.target for f in imports_of(m) if f.target in modules() and f.target != m} for m in modules()}
    return {f"circle {name}" for names in circles(graph) for name in names}


def broken_sizes() -> set[str]:
    long = {f"long {path.relative_to(ROOT)}" for path in sources() if path.read_text("utf-8").count("\n") > 400}
    crowds = Counter(path.parent for path in sources() if path.name != "__init__.py")
    return long | {f"crowded {folder.relative_to(ROOT)}" for folder, files in crowds.items() if files > 14}


def broken_names() -> set[str]:
    files = Counter(path.name for path in PACKAGE.rglob("*.py") if path.name not in ("__init__.py", "__main__.py"))
    classes = Counter(n.name for m in modules() for n in ast.walk(tree_of(m)) if isinstance(n, ast.ClassDef))
    return {f"file {name}" for name, times in files.items() if times > 3} | {
        f"class {name}" for name, times in classes.items() if times > 1
    }


def broken_packages() -> set[str]:
    said = {m: ast.get_docstring(tree_of(m)) or "" for m in modules() if is_package(m)}
    return {f"unsaid {module}" for module, text in said.items() if len(text.split()) < 12}


CLAIMS = {
    "imports point down only": broken_layers,
    "the packages of the engine keep their order": broken_order,
    "no circle of imports, those in functions and for types included": broken_circles,
    "no file above 400 lines, no folder of more than 14": broken_sizes,
    "one name for one thing": broken_names,
    "each package says what it is for and what it leaves to others": broken_packages,
}


@pytest.mark.parametrize("claim", CLAIMS)
def test_the_house_stands(claim: str) -> None:
    broken = CLAIMS[claim]()
    assert not broken, claim + ":\n" + "\n".join(sorted(broken))


def test_only_backend_imports_the_native_module() -> None:
    assert not [
        str(f) for f in all_imports() if "_native" in f.target.split(".") and f.importer != "tokcli.engine.backend"
    ]


@pytest.mark.parametrize("module", [m for m in modules() if layer_of(m) == "engine"])
def test_the_engine_knows_no_screen_and_no_network(module: str) -> None:
    assert not {found.target.split(".")[0] for found in imports_of(module)} & ENGINE_MAY_NOT


# What functions may import (see CONTRIBUTING, "What a start loads"): modules of others that take long to load, or are
# not on every system ...
HEAVY = {"ctypes", "difflib", "distributed", "fsspec", "importlib", "json", "numpy",
         "platformdirs", "pyarrow", "regex", "requests", "rich", "shutil", "tempfile", "termios", "torch", "tty", "urllib3"}  # fmt: skip
# ... and modules of ours, where a command would load what it does not use: each with the door behind which that is, or
# with what loading it takes, on a busy machine with two cores
LATE = {
    "tokcli.chat_templates.renderer": "Jinja2, of an extra",
    "tokcli.cli.count.count_forms": "rich",
    "tokcli.cli.count.count": "another form: more than one number",
    "tokcli.engine.tiktoken.rank_vocabulary": "merging in Python, 1.2 ms, which the native twin saves",
    "tokcli.__main__": "the command line, 60 ms, which an import of `python -m tokcli` in tests does not need",
    "tokcli.cli.decode": "another form: shards",
    "tokcli.cli.encode.views.compare": "rich",
    "tokcli.cli.encode.encode": "other forms than ids: views with rich, chats, chunks, shards, records",
    "tokcli.cli.inspect_ranks.inspect_ranks": "other forms than the list of encodings",
    "tokcli.cli.inspect_ranks.listing": "rich",
    "tokcli.cli.split.table": "rich",
    "tokcli.cli.main": "completion, which is as a command of its own",
    "tokcli.cli.request": "the terminal, -r, and files that an output may not replace",
    "tokcli.cli.split.split": "other forms than pieces: views with rich and regex",
    "tokcli.cli.inputs.files_read": "readers of foreign formats",
    "tokcli.cli.messages": "the words of an error",
    "tokcli.cli.streams": "readers of foreign formats: compressed data and UTF-16; the terminal",
    "tokcli.cli.train.output": "the readers of files, 9 ms, for formats that are read again before they are written",
    "tokcli.cli.train.session": "rich",
    "tokcli.cli.train.train": "training; records, counts, clusters and checkpoints, 4 ms",
    "tokcli.cluster.tasks": "multiprocessing, for Dask, which is of an extra",
    "tokcli.engine.roles.lookups": "tables of merges, 0.4 ms of every run, for views of a vocabulary",
    "tokcli.engine.roles.rules": "all families of tokenizers, of which a file needs one",
    "tokcli.engine.roles.readers": "all families of tokenizers, 80 ms, to cut long texts, which few texts are",
    "tokcli.engine.bindings.id_decoder": "a family of tokenizers each, whose decoder the image names",
    "tokcli.engine.tokenizer": "a family of tokenizers, for one that was pickled",
    "tokcli.engine.encoding": "files and streams, 0.2 ms, which the command line reads itself; sampling, 50 ms",
    "tokcli.engine.pretokenizers.pretokenizer": "compiling, 4 ms, which a pattern that native code splits by does not need",
    "tokcli.engine.tiktoken.text_ranks": "the tables of normal forms, 2 ms, which most texts do not need",
    "tokcli.engine.stream.special_tokens": "what finds them in Python, 0.3 ms, which native code does by itself",
    "tokcli.engine.unicode.properties": "tables of Unicode, 2 ms, which the known patterns do not need",
    "tokcli.formats.read": "readers of foreign formats, each for itself",
    "tokcli.render.glyphs": "the tables of characters, which ASCII does not need",
    "tokcli.registry": "tiktoken's names, which the rest of the package does not need",
    "tokcli.registry.compiled.compiled_tokenizer": "native stages and decoders, 10 ms, which counting by ranks does without",
    "tokcli.registry.compiled.files": "the readers of files, 50 ms, once a file is in the cache",
    "tokcli.registry.lazy_ranks": "the packed ranks, 20 ms, once an image is in the cache",
    "tokcli.registry.encodings": "files, 20 ms, the network, 30 ms, and the table of models, 5 ms: a registered name needs none of them",
    "tokcli.registry.network.download": "requests, 130 ms",
    "tokcli.registry.ranks_files": "the cache of downloads, 16 ms",
    "tokcli.registry.registered": "the packed ranks, 20 ms, once an image is in the cache",
}


def imports_in_functions() -> list[Import]:
    return [found for found in all_imports() if found.in_function]


def test_functions_import_only_what_is_heavy_or_late() -> None:
    heavy = {f for f in imports_in_functions() if HEAVY & {f.target, f.target.split(".")[0]}}
    assert {str(f) for f in imports_in_functions() if f not in heavy and f.importer not in LATE} == set()
    assert set(LATE) - {f.importer for f in imports_in_functions() if f.is_ours} == set()


def test_what_is_imported_when_a_module_is_loaded_comes_with_the_package() -> None:
    needed = {"click", "platformdirs", "regex", "requests", "rich", "urllib3", "tokcli"}  # requests brings urllib3
    in_their_own_process = {"tokcli.chat_templates.sandbox", "tokcli.chat_templates.template_process"}  # extra `chat`

    def at_the_top(node: ast.AST) -> Iterator[ast.AST]:
        for child in ast.iter_child_nodes(node):
            # (what is tried, or asked for by a condition, may be missing)
            if not isinstance(child, (ast.If, ast.Try, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
                yield child
                yield from at_the_top(child)

    found = {
        (module, name.split(".")[0])
        for module in set(modules()) - in_their_own_process
        for node in at_the_top(tree_of(module))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in ([alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""])
    }
    assert {pair for pair in found if pair[1] not in needed | sys.stdlib_module_names} == set()


def test_few_imports_are_inside_functions() -> None:
    assert sum(map(statements_in_functions, modules())) <= 80


def test_modules_are_named_in_strings_only_where_a_table_loads_them() -> None:
    tables = {
        "tokcli",
        "tokcli.__main__",
        "tokcli.cli.main",
        "tokcli.engine.backend",
        "tokcli.engine.encoding_vocabulary",
    }
    users = {m for m in modules() for f in imports_of(m) if f.target == "importlib" and "import_module" in source_of(m)}
    assert users <= tables


def tree_in_contributing() -> dict[Path, str]:
    """Return the folders that the tree in CONTRIBUTING draws, each with its line."""
    tree = GUIDE.read_text("utf-8").partition("## The tree\n\n```\n")[2].partition("```")[0]
    found: dict[Path, str] = {}
    above: list[str] = []
    for line in tree.splitlines():
        name, _, said = line.strip().partition("/ ")
        depth = (len(line) - len(line.lstrip())) // 2
        above = [*above[:depth], name]
        found[ROOT.joinpath(*above)] = said.strip()
    return found


def test_contributing_draws_the_folders_and_says_what_each_is_for() -> None:
    drawn = {folder: said for folder, said in tree_in_contributing().items() if PACKAGE in (folder, *folder.parents)}
    native = PACKAGE / "engine" / "native"  # encoder.h has a map of its folders
    assert set(drawn) == {folder for folder in folders() if native not in folder.parents}
    assert all(drawn.values())


def test_contributing_names_files_that_exist() -> None:
    names = set(re.findall(r"`([\w./]+(?:/|\.py|\.cc|\.h))`", GUIDE.read_text("utf-8"))) - {"Python.h"}
    tracked = [f"/{path.relative_to(ROOT)}" for top in ("tokcli", "tests") for path in (ROOT / top).rglob("*")]
    assert len(names) > 40
    assert {name for name in names if not any(path.endswith(f"/{name.rstrip('/')}") for path in tracked)} == set()


def test_every_class_of_the_native_code_has_a_name_of_its_own() -> None:
    """Two of one name in one namespace share what the compiler makes for them, such as std::vector's functions."""
    found = [
        match[1]
        for path in (PACKAGE / "engine" / "native").rglob("*")
        if path.suffix in (".h", ".cc")
        for match in re.finditer(
            r"^(?:struct|class|enum class) (\w+)(?: : [^{;]+)? \{", path.read_text("utf-8"), re.MULTILINE
        )
    ]
    assert len(found) > 50
    assert sorted(set(found)) == sorted(found)


def loaded_by(*arguments: str) -> set[str]:
    code = (
        "import sys; from tokcli.cli.main import run; status = run(sys.argv[1:]); "
        "print(*sys.modules, sep='\\n', file=sys.stderr); sys.exit(status)"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], input=b"hello", capture_output=True, check=True)
    return set(done.stderr.decode().split())


@pytest.mark.parametrize("command", [["count"], ["count", "-m", "gpt-4o"], ["encode"], ["decode", "-t", "1 2"]])
def test_the_common_commands_load_neither_rich_nor_requests(command: list[str]) -> None:
    heavy = {
        "rich",
        "requests",
        "platformdirs",
        "filelock",
        "numpy",
        "importlib.metadata",
        "tokcli.engine.unicode.tables_16",
        "tokcli.registry.models.table",
    }
    assert not loaded_by(*command) & heavy


RULES = {  # what only the rules of a tokenizer need, or its compiling
    "bisect",
    "heapq",
    "tokcli.atomic",
    "tokcli.engine.bpe.bpe",
    "tokcli.engine.tiktoken.text_ranks_of",
    "tokcli.engine.unicode.forms",
    "tokcli.engine.unicode.properties",
    "tokcli.formats.read",
    "tokcli.registry.compiled.keeping",
}


@pytest.mark.skipif(backend.native() is None, reason="without native code, the rules are asked for each text")
def test_counting_by_compiled_ranks_loads_no_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKCLI_CACHE_DIR", str(tmp_path))
    file = ROOT / "tests" / "data" / "formats" / "plain.tokenizer.json"
    code = (
        "import sys; from tokcli.registry.encodings import load_encoding; "
        f"load_encoding({str(file)!r}).count('hello'); print(*sys.modules)"
    )
    first, second = (set(subprocess.check_output([sys.executable, "-c", code]).decode().split()) for _ in range(2))
    assert first >= RULES
    assert not second & RULES


@pytest.mark.slow
def test_counting_by_a_tokenizer_that_ships_reads_no_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKCLI_CACHE_DIR", str(tmp_path))
    loaded_by("count", "-e", "qwen3")  # compiles it
    others = {"tokcli.registry.models.table", "tokcli.render.visible"}
    assert not loaded_by("count", "-e", "qwen3") & (RULES - {"tokcli.atomic"} | others)  # which every command loads


def test_importing_tokcli_loads_nothing_of_it() -> None:
    code = "import sys, tokcli; print(*(m for m in sys.modules if m.startswith('tokcli.')))"
    assert subprocess.check_output([sys.executable, "-c", code]).split() == []


def test_the_version_is_the_packages() -> None:
    import tokcli

    line = next(x for x in (ROOT / "pyproject.toml").read_text().splitlines() if x.startswith("version"))
    assert line == f'version = "{tokcli.__version__}"'
