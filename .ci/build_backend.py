"""How the package is built: scikit-build-core, and what it has no setting for.

A source distribution holds the files that git tracks, and no others; where there is no repository, as in an unpacked
source distribution, those that match `sdist.include` of pyproject.toml. Where the native backend cannot be built, the
wheel is pure Python, and `tokcli/engine/no_native.txt` says why: `tokcli --version` prints it.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from scikit_build_core import build
from scikit_build_core.errors import ScikitBuildError

Settings = dict[str, "list[str] | str"] | None

ROOT = Path(__file__).resolve().parent.parent
REASON = "tokcli/engine/no_native.txt"
COMPILERS = ("c++", "g++", "clang++", "icpx")  # those that CMake looks for, and their order
CPP20 = b"#include <bit>\n#include <span>\nint main() { return std::popcount(0u); }\n"

get_requires_for_build_sdist = build.get_requires_for_build_sdist


def get_requires_for_build_wheel(settings: Settings = None) -> list[str]:
    """Return what a wheel needs to be built: neither CMake nor Ninja where they would have no compiler."""
    return build.get_requires_for_build_wheel(_settings(settings, _reason_before()))


def get_requires_for_build_editable(settings: Settings = None) -> list[str]:
    """Return what an editable wheel needs to be built."""
    return build.get_requires_for_build_editable(_settings(settings, _reason_before()))


def build_wheel(folder: str, settings: Settings = None, metadata: str | None = None) -> str:
    """Build a wheel, with native code where that is possible, and return its name."""
    return _build(build.build_wheel, folder, settings, metadata)


def build_editable(folder: str, settings: Settings = None, metadata: str | None = None) -> str:
    """Build an editable wheel, and return its name."""
    return _build(build.build_editable, folder, settings, metadata)


def build_sdist(folder: str, settings: Settings = None) -> str:
    """Build a source distribution of the files that git tracks, and return its name."""
    tracked = _tracked()
    if tracked is not None:
        patterns = ["/" + re.sub(r"([\\*?\[ ])", r"\\\1", name) for name in tracked]
        settings = {**(settings or {}), "sdist.include": patterns}
    return build.build_sdist(folder, settings)


def _tracked() -> list[str] | None:
    """Return the names of the files that git tracks; None where this folder is not the top of a repository."""
    if not (ROOT / ".git").exists():
        return None
    try:
        listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return listed.stdout.decode().rstrip("\0").split("\0")


def _build(
    builder: Callable[[str, Settings, str | None], str], folder: str, settings: Settings, metadata: str | None
) -> str:
    reason = _reason_before()
    if reason is None:
        os.environ.setdefault("CMAKE_BUILD_PARALLEL_LEVEL", str(os.cpu_count() or 1))  # Make would take one core only
        print("Compiling the native backend takes half a minute on two idle cores.", flush=True)
        try:
            return builder(folder, settings, metadata)
        except (SystemExit, ScikitBuildError) as error:
            reason = _reason_after(error)
    print(f"The native backend is not built: {reason}.", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        written = Path(scratch, "reason")
        written.write_text(f"{reason}\n", "utf-8")
        return builder(folder, _settings(settings, reason) | {f"wheel.force-include.{written}": REASON}, metadata)


def _settings(settings: Settings, reason: str | None) -> dict[str, list[str] | str]:
    """Return the settings of a build, without native code if there is a reason for that."""
    return {**(settings or {}), **({} if reason is None else {"wheel.cmake": "false"})}


def _reason_before() -> str | None:
    """Return why native code need not be tried; None if it has to be."""
    if os.environ.get("TOKCLI_PURE", "").lower() not in ("", "0", "false", "off", "no"):
        return "TOKCLI_PURE was set at installation"
    if os.name == "nt":
        return "not supported on Windows"
    if _compiler() is None and not {"CMAKE_ARGS", "CMAKE_TOOLCHAIN_FILE"} & os.environ.keys():
        return "no C++ compiler at installation"
    return None


def _reason_after(error: BaseException) -> str:
    """Return why the native code could not be built."""
    if isinstance(error, ScikitBuildError):
        return f"no usable CMake at installation ({type(error).__name__})"
    command = _compiler() or ["c++"]
    try:
        with tempfile.TemporaryDirectory() as scratch:
            arguments = ["-std=c++20", "-x", "c++", "-c", "-", "-o", f"{scratch}/made.o"]
            subprocess.run([*command, *arguments], input=CPP20, check=True, capture_output=True, timeout=60)
            if not Path(scratch, "made.o").exists():
                raise OSError
    except FileNotFoundError:
        return f"no compiler {shlex.join(command)} at installation"
    except (OSError, subprocess.SubprocessError):
        return f"the compiler {shlex.join(command)} does not compile C++20"
    return "its build failed at installation; `pip install -v` shows where"


def _compiler() -> list[str] | None:
    """Return the command that CMake takes as the C++ compiler; None if there is none."""
    if os.environ.get("CXX"):
        return shlex.split(os.environ["CXX"])
    return next(([name] for name in COMPILERS if shutil.which(name)), None)
