"""Says what is wrong with source distributions and wheels: `python .ci/check_distributions.py [--publish] FILE...`.

A source distribution holds what git tracks, and nothing else. A wheel holds the package, the man pages and completions,
and at most one library. With --publish, what is only a placeholder is wrong, too, and so is a tag that PyPI refuses.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent
MOST_BYTES = 8_000_000  # of a wheel
PLACEHOLDER = "example.org"  # stands for the address of the repository in pyproject.toml
PACKAGE = re.compile(
    r"tokcli/([\w.]+/)*([\w.-]+\.(py|pyi|ranks|merges|template|html|css|js|txt)|py\.typed|NOTICE|no_native\.txt)"
)
NOT_PACKED = re.compile(r"tokcli/engine/native/|tokcli/cli/.*\.md$")  # of what is tracked in the package
LIBRARY = re.compile(r"tokcli/engine/_native(\.[\w-]+)?\.(so|pyd)")
SHARED = re.compile(
    r"tokcli-[^/]+\.data/data/share/(man/man1/tokcli[\w-]*\.1|bash-completion/completions/tokcli"
    r"|zsh/site-functions/_tokcli|fish/vendor_completions\.d/tokcli\.fish)"
)
ABOUT = re.compile(r"tokcli-[^/]+\.dist-info/(METADATA|WHEEL|RECORD|entry_points\.txt|licenses/[\w/]+|sboms/[\w.-]+)")


def tracked_files() -> set[str]:
    """The names of the files that git tracks; none where there is no repository."""
    if not (ROOT / ".git").exists():
        return set()
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], check=True, capture_output=True)
    return set(listed.stdout.decode().rstrip("\0").split("\0"))


def wrong_with_sdist(path: Path) -> Iterator[str]:
    """What is wrong with a source distribution."""
    with tarfile.open(path) as archive:
        members = [member for member in archive.getmembers() if not member.isdir()]
    names = {member.name.partition("/")[2] for member in members}
    yield from (f"{member.name} is no file" for member in members if not member.isfile())
    if tracked := tracked_files():
        tracked |= {"PKG-INFO"}
        yield from (f"{name} is not tracked" for name in sorted(names - tracked))
        yield from (f"{name} is missing" for name in sorted(tracked - names))
    yield from (f"{name} is hidden" for name in names if re.search(r"(^|/)\.(env|git/)", name))


def wrong_with_wheel(path: Path, *, publishes: bool) -> Iterator[str]:
    """What is wrong with a wheel."""
    size = path.stat().st_size
    if size > MOST_BYTES:
        yield f"it has {size:,} bytes, more than {MOST_BYTES:,}"
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
        about = next((archive.read(name).decode() for name in names if name.endswith(".dist-info/METADATA")), "")
    libraries = [name for name in names if LIBRARY.fullmatch(name)]
    known = (PACKAGE, LIBRARY, SHARED, ABOUT)
    yield from (f"{name} is stray" for name in names if not any(pattern.fullmatch(name) for pattern in known))
    packed = {name for name in tracked_files() if name.startswith("tokcli/") and not NOT_PACKED.match(name)}
    yield from (f"{name} is missing" for name in sorted(packed - set(names)))
    shared = {PurePosixPath(name).name for name in names if SHARED.fullmatch(name)}
    expected = {"tokcli", "_tokcli", "tokcli.fish", *(page.name for page in (ROOT / "completions" / "man1").iterdir())}
    yield from (f"share/ has no {name}" for name in sorted(expected - shared))
    is_pure = path.name.endswith("-py3-none-any.whl")
    if len(libraries) != (0 if is_pure else 1):
        yield f"its name says {'no' if is_pure else 'one'} library, and it has {libraries}"
    if is_pure != any(name.endswith("/no_native.txt") for name in names):
        yield "no_native.txt is for pure Python"
    if publishes and PLACEHOLDER in about:
        yield f"{PLACEHOLDER} stands for the address of the repository: write it into pyproject.toml"
    if publishes and is_pure:
        yield "pure Python: pip makes that of the source distribution where no wheel fits"
    if publishes and "-linux_" in path.name:
        yield "PyPI takes manylinux and musllinux only: auditwheel repair"


def main() -> None:
    """Print what is wrong, and end with 1 if anything is."""
    arguments = sys.argv[1:]
    publishes = "--publish" in arguments
    status = 0
    for path in (Path(name) for name in arguments if name != "--publish"):
        is_wheel = path.suffix == ".whl"
        found = list(wrong_with_wheel(path, publishes=publishes) if is_wheel else wrong_with_sdist(path))
        print(f"{path.name}: {path.stat().st_size:,} bytes, {'nothing wrong' if not found else 'WRONG'}")
        for line in found:
            print(f"  {line}")
            status = 1
    sys.exit(status)


if __name__ == "__main__":
    main()
