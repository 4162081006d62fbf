"""The package's source, read and never run: its modules, what each imports and how, its classes and its folders."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from support import ROOT

PACKAGE = ROOT / "tokcli"
# files of tables that a script of tests/tools writes
GENERATED = {
    "tables_16.py", "tables_glyphs.py", "tables_hf.py", "tables_versions.py", "unicode_tables.h", "character_tables.h",
    "glyph_tables.h",
}  # fmt: skip


@dataclass(frozen=True)
class Import:
    """One imported module or name; `target` is the longest dotted name that is a module of ours, else what is written."""

    importer: str
    target: str
    line: int
    in_function: bool

    @property
    def is_ours(self) -> bool:
        return self.target.split(".")[0] == "tokcli"

    def __str__(self) -> str:
        return f"{self.importer} -> {self.target}"


@cache
def modules() -> dict[str, Path]:
    """Return the file of each module, by its dotted name."""
    paths = sorted(PACKAGE.rglob("*.py"))
    return {".".join(p.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): p for p in paths}


@cache
def tree_of(module: str) -> ast.Module:
    """Return the syntax tree of a module."""
    return ast.parse(source_of(module))


def source_of(module: str) -> str:
    """Return the text of a module."""
    return modules()[module].read_text("utf-8")


def is_package(module: str) -> bool:
    """Return whether a module is the `__init__.py` of a folder."""
    return modules()[module].name == "__init__.py"


@cache
def imports_of(module: str) -> tuple[Import, ...]:
    """Return all imports of a module: at the top, in functions and under TYPE_CHECKING."""
    return tuple(_imports(module, tree_of(module), in_function=False))


def _imports(module: str, node: ast.AST, in_function: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        for target in _targets(module, child):
            yield Import(module, target, child.lineno, in_function)
        inside = in_function or isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        yield from _imports(module, child, inside)


def _targets(module: str, node: ast.AST) -> Iterable[str]:
    """Return the modules that a statement imports: `from package import name` names the submodule, if `name` is one."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        assert not node.level, f"{module}:{node.lineno}: a relative import"
        whole = {f"{node.module}.{alias.name}" for alias in node.names}
        return {name if name in modules() else str(node.module) for name in whole}
    return ()


def all_imports() -> list[Import]:
    """Return the imports of every module."""
    return [found for module in modules() for found in imports_of(module)]


def statements_in_functions(module: str) -> int:
    """Return the number of import statements inside functions of a module."""
    return len({found.line for found in imports_of(module) if found.in_function})


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the sets of nodes that reach each other, each sorted.

    >>> circles({"a": {"b"}, "b": {"c"}, "c": {"b"}})
    [['b', 'c']]
    """
    reached = {node: _reached(graph, node) for node in graph}
    found = {
        tuple(sorted({other for other in reached[node] if node in reached.get(other, ())}))
        for node in graph
        if node in reached[node]
    }
    return sorted(map(list, found))


def _reached(graph: dict[str, set[str]], start: str) -> set[str]:
    """Return the nodes that lie on paths from `start`; `start` itself only where a path leads back to it."""
    seen: set[str] = set()
    open_ = list(graph[start])
    while open_:
        node = open_.pop()
        if node not in seen:
            seen.add(node)
            open_.extend(graph.get(node, ()))
    return seen


def folders() -> list[Path]:
    """Return the folders of the package that hold files, the package itself included."""
    return sorted({path.parent for path in PACKAGE.rglob("*") if path.is_file() and path.parent.name != "__pycache__"})


def sources(folder: Path = PACKAGE) -> list[Path]:
    """Return the source files below a folder that people write: Python and C++, without generated tables."""
    return sorted(p for p in folder.rglob("*") if p.suffix in (".py", ".cc", ".h") and p.name not in GENERATED)
