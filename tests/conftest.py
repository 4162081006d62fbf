"""Settings of the tests: hypothesis without deadlines, since machines differ; `HYPOTHESIS_PROFILE=long` for more."""

from __future__ import annotations

import os

import hypothesis

os.environ["PYTHONSAFEPATH"] = "1"  # what is installed is tested, not the source tree (which has no native backend)

hypothesis.settings.register_profile("default", deadline=None, max_examples=150)
hypothesis.settings.register_profile("long", deadline=None, max_examples=5000)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
