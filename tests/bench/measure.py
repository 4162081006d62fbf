"""What a measured process does: one operation of one library, once. compare.py starts it."""

from __future__ import annotations

import hashlib
import os
from array import array
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

DOCUMENT_CHARS = 2000
GROWING_CHARS, GROWTH, STEPS = 1_000_000, 100, 20  # of `append`
# what of peers.py an operation is made of; where a library gives no array of ids, lists stand for them
WORK = {"list": "list", "count": "count", "batch": "batch", "decode": "decode", "decode-spread": "decode"}
OF_ARRAYS = ("again", "documents", "append", "steady", "spread")
SAMPLES: dict[str, Any] = {"batch": ["Hello", "world"], "decode": [0]}


def documents_of(text: str) -> list[str]:
    """A text cut at newlines into documents of a little more than DOCUMENT_CHARS."""
    documents, start = [], 0
    while start < len(text):
        end = text.find("\n", start + DOCUMENT_CHARS) + 1 or len(text)
        documents.append(text[start:end])
        start = end
    return documents


def _numbers(ids: Any) -> list[int]:
    """Ids as integers, in whatever form they come."""
    return ids if isinstance(ids, list) else array("I", bytes(ids)).tolist()


def digest_of(ids: Any) -> str:
    """What equal ids have in common, in whatever form they come; those of several documents as one list."""
    if isinstance(ids, list) and ids and not isinstance(ids[0], int):
        return digest_of([i for document in map(_numbers, ids) for i in (*document, len(document))])
    if not isinstance(ids, bytes):
        ids = array("I", ids).tobytes() if isinstance(ids, list) else memoryview(ids).cast("B").tobytes()
    return hashlib.sha256(ids).hexdigest()


def prepare(operation: str, known: dict[str, Any], text: str) -> tuple[Callable[[], Any], int]:
    """Do what comes before an operation is measured; return what is measured, and how many times it does its work."""
    run = known["list"] if operation in OF_ARRAYS and "array" not in known else known[WORK.get(operation, "array")]
    if operation == "documents":
        documents = documents_of(text)
        for document in documents:
            run(document)
        return lambda: [run(document) for document in documents], 1
    if operation == "append":
        first = max(min(len(text), GROWING_CHARS) - GROWTH * STEPS, 0)
        grown = [text[: first + GROWTH * step] for step in range(STEPS + 1)]
        run(grown[0])
        return lambda: [run(longer) for longer in grown[1:]], STEPS
    if operation == "again":
        run(text)
    given: Any = documents_of(text) if operation == "batch" else text
    if WORK.get(operation) == "decode":
        given = known["list"](text)
    return lambda: run(given), 1


def measure(job: dict[str, str]) -> dict[str, Any]:
    """One operation of one library, once; seconds, and a digest of what it gave."""
    import peers

    operation = job["operation"]
    work = WORK.get(operation, "array")
    if operation != "batch" and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    start = perf_counter()
    try:
        known = peers.PEERS[job["peer"]](job["encoding"], job["folder"])
    except (ModuleNotFoundError, KeyError, AttributeError) as error:
        return {"missing": "not installed" if isinstance(error, ModuleNotFoundError) else "no such encoding"}
    if work not in known and operation not in (*OF_ARRAYS, "load"):
        return {"missing": "no such operation"}
    known.get(work, known["list"])(SAMPLES.get(work, "Hello"))  # what is first made when needed belongs to loading
    loaded = perf_counter() - start
    if operation == "load":
        return {"seconds": loaded, "digest": ""}
    text = Path(job["text"]).read_text("utf-8")
    run, times = prepare(operation, known, text)
    wall, cpu = perf_counter(), process_time()
    answer = run()
    wall, cpu = perf_counter() - wall, process_time() - cpu
    digest = str(answer) if work == "count" else str(answer == text) if work == "decode" else digest_of(answer)
    return {"seconds": (wall if operation == "batch" else cpu) / times, "digest": digest}
