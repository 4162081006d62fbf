"""What shells complete: the possible values of an option or argument, by what its row says that it completes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from click.shell_completion import CompletionItem

from tokcli.registry.catalog import CATALOG
from tokcli.registry.model_names import MODEL_TO_ENCODING

if TYPE_CHECKING:
    import click

FILES_TOO = ("encoding", "file", "folder")


def answers(param: click.Parameter, completes: str | None, ctx: click.Context, incomplete: str) -> list[Any]:
    """Return the values of an option or argument that begin with `incomplete`; or ask the shell for files."""
    names = {"encoding": CATALOG, "pattern": CATALOG, "model": MODEL_TO_ENCODING, "cluster": ("local",)}
    found = [name for name in names.get(completes or "", ()) if name.startswith(incomplete)]
    if completes == "choices":
        return param.type.shell_complete(ctx, param, incomplete)
    if found or completes not in FILES_TOO:
        return [CompletionItem(name) for name in found]
    return [CompletionItem(incomplete, type="dir" if completes == "folder" else "file")]
