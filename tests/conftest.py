"""Settings of the tests: hypothesis without deadlines, since machines differ; `HYPOTHESIS_PROFILE=long` for more."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import hypothesis

# What is installed is tested, not the source tree (which has no native backend): also under `python -m pytest`, which
# puts the current folder first, and in processes that tests start.
os.environ["PYTHONSAFEPATH"] = "1"
if (Path(sys.executable).parent / "tokcli").exists():
    sys.path[:] = [p for p in sys.path if Path(p).resolve() != Path(__file__).resolve().parent.parent]

# what is cached is the tests' own
_cache = tempfile.TemporaryDirectory()
os.environ["TOKCLI_CACHE_DIR"] = _cache.name

hypothesis.settings.register_profile("default", deadline=None, max_examples=150)
hypothesis.settings.register_profile("long", deadline=None, max_examples=5000)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
