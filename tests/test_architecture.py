"""The house stands as it was designed: imports point down only, and counting loads little."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT

PACKAGE = ROOT / "tokcli"
# who may import whom: each layer itself and what stands to its right
LAYERS = {
    "cli": {"render", "training", "registry", "formats", "engine", "errors", "vocab"},
    "render": {"engine", "errors"},
    "training": {"engine", "errors"},
    "registry": {"formats", "engine", "errors", "vocab"},
    "formats": {"engine", "errors"},
    "engine": {"errors"},
    "vocab": set(),
    "errors": set(),
}
ENGINE_MAY_NOT = {"click", "rich", "requests", "platformdirs", "filelock"}
MODULES = sorted(PACKAGE.rglob("*.py"))


def layer_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """The modules that a file imports, also inside functions."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_point_down_only(path: Path) -> None:
    own = layer_of(path)
    for name in imported(path):
        if not name.startswith("tokcli.") or own in ("__init__", "__main__"):
            continue
        layer = name.split(".")[1]
        assert layer == own or layer in LAYERS[own] or layer == "__version__", f"{own} imports {name}"


@pytest.mark.parametrize("path", [p for p in MODULES if layer_of(p) == "engine"], ids=lambda p: p.name)
def test_the_engine_knows_no_screen_and_no_network(path: Path) -> None:
    assert not {name.split(".")[0] for name in imported(path)} & ENGINE_MAY_NOT


def test_there_is_no_circle_of_imports_within_a_layer() -> None:
    """Imports at the top of a module; those inside functions cannot make a circle at start-up."""
    graph: dict[str, set[str]] = {}
    for path in MODULES:
        module = ".".join(["tokcli", *path.relative_to(PACKAGE).with_suffix("").parts]).removesuffix(".__init__")
        tops = [
            node for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, (ast.Import, ast.ImportFrom))
        ]
        names = {alias.name for node in tops if isinstance(node, ast.Import) for alias in node.names}
        for node in tops:
            if isinstance(node, ast.ImportFrom) and node.module:
                names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
        graph[module] = names
    done: set[str] = set()

    def visit(module: str, path_to: tuple[str, ...]) -> None:
        assert module not in path_to, f"circle: {' -> '.join((*path_to, module))}"
        if module not in done:
            for name in graph[module] & graph.keys() - {module}:
                visit(name, (*path_to, module))
            done.add(module)

    for module in graph:
        visit(module, ())


def loaded_by(*arguments: str) -> set[str]:
    code = (
        "import sys; from tokcli.cli.main import run; status = run(sys.argv[1:]); "
        "print(*sys.modules, sep='\\n', file=sys.stderr); sys.exit(status)"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], input=b"hello", capture_output=True, check=True)
    return set(done.stderr.decode().split())


@pytest.mark.parametrize("command", [["count"], ["encode"], ["decode", "-t", "1 2"]])
def test_the_common_commands_load_neither_rich_nor_requests(command: list[str]) -> None:
    heavy = {"rich", "requests", "platformdirs", "filelock", "numpy", "importlib.metadata", "tokcli.engine.unicode16"}
    assert not loaded_by(*command) & heavy


def test_importing_tokcli_loads_nothing_of_it() -> None:
    code = "import sys, tokcli; print(*(m for m in sys.modules if m.startswith('tokcli.')))"
    assert subprocess.check_output([sys.executable, "-c", code]).split() == []


def test_the_version_is_the_packages() -> None:
    import tokcli

    line = next(x for x in (ROOT / "pyproject.toml").read_text().splitlines() if x.startswith("version"))
    assert line == f'version = "{tokcli.__version__}"'
