"""Checkpoints under test: trainings that die at a place of the test's choice, and what they have left."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from support import without_coverage

from tokcli.cli.checkpoint_folder import NAME

_DYING = """
import os, sys
from tokcli.cli.main import run
from tokcli.cli.train import checkpoint, session
if sys.argv[1] == "counted":
    session.learn_ranks = lambda *given, **more: os._exit(9)
else:
    keeps = checkpoint.Checkpoint.keeps
    def dying(self, tokens):
        keep, self._every = keeps(self, tokens), 0
        def keep_and_die(index, *more):
            keep(index, *more)
            if index == int(sys.argv[1]):
                os._exit(9)
        return keep_and_die
    checkpoint.Checkpoint.keeps = dying
run(["train", *sys.argv[2:]])
"""


def die_in_training(folder: Path, *arguments: str | Path, after: str = "counted") -> Path:
    """Train with a checkpoint in `folder` until the corpus is counted, or until merge number `after`; return its folder."""
    asked = (*map(str, arguments), "--checkpoint", str(folder), "-o", str(folder.parent / "never"))
    done = subprocess.run([sys.executable, "-c", _DYING, after, *asked], env=without_coverage(), timeout=120)
    assert done.returncode == 9
    return folder / NAME


def sealed(state: dict[str, Any]) -> bytes:
    """Return a state.json whose digest fits what it says."""
    state = {key: value for key, value in state.items() if key != "sha256"}
    digest = hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()
    return json.dumps({**state, "sha256": digest}, sort_keys=True).encode()
