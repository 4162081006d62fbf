"""The threads of a crew begin on processors of their own, and are the system's to move soon after."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import pytest

from tokcli.engine.stream import processors
from tokcli.engine.stream.parallel import ordered, threads_inside, with_threads_inside

MINE = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
needs_two = pytest.mark.skipif(
    not 1 < len(MINE) <= processors.MOST, reason="needs a system with two to eight processors that can be chosen"
)


@pytest.fixture(autouse=True)
def here() -> Iterator[None]:
    """Let a test find and leave this thread free to run anywhere."""
    yield
    if MINE:
        assert sorted(os.sched_getaffinity(0)) == MINE


def seen_in_rounds(rounds: int) -> list[set[int]]:
    """Return where each item may be worked on; in each round, every thread has one."""
    together = threading.Barrier(len(MINE))

    def work(_: int) -> set[int]:
        together.wait(20)
        return os.sched_getaffinity(0)

    return list(ordered(work, iter(range(rounds * len(MINE))), len(MINE)))


@needs_two
def test_each_thread_begins_on_its_own_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processors, "FIXED_S", 1000.0)
    found = seen_in_rounds(2)
    for begin in (0, len(MINE)):
        assert sorted(map(sorted, found[begin : begin + len(MINE)])) == [[number] for number in MINE]


@needs_two
def test_after_a_while_the_system_may_move_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processors, "FIXED_S", 0.0)
    found = seen_in_rounds(2)
    assert sorted(map(sorted, found[: len(MINE)])) == [[number] for number in MINE]
    assert found[len(MINE) :] == [set(MINE)] * len(MINE)


@needs_two
def test_a_thread_that_starts_others_is_free_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processors, "FIXED_S", 1000.0)

    def work(_: int) -> tuple[int, set[int]]:
        return threads_inside(), os.sched_getaffinity(0)

    assert list(ordered(with_threads_inside(work, 3), iter(range(9)), len(MINE))) == [(3, set(MINE))] * 9


@needs_two
def test_a_crew_that_a_thread_of_another_one_starts_has_all_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processors, "FIXED_S", 1000.0)
    made = list(ordered(lambda _: seen_in_rounds(1), iter(range(3)), len(MINE)))
    assert [sorted(map(sorted, found)) for found in made] == [[[number] for number in MINE]] * 3


@pytest.mark.parametrize(
    ("there", "threads"), [(range(16), 16), (range(4), 3), (range(1), 8)], ids=["many", "more than threads", "one"]
)
def test_nothing_is_fixed_where_that_would_not_help(
    monkeypatch: pytest.MonkeyPatch, there: range, threads: int
) -> None:
    with monkeypatch.context() as patch:
        calls = faked(patch, set(there))
        assert list(ordered(abs, iter([-1, 2]), threads)) == [1, 2]
        assert calls == []


def test_the_caller_goes_from_one_processor_to_the_next_and_is_free_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        calls = faked(patch, {3, 5, 8})
        assert list(ordered(abs, iter(range(20)), 4)) == list(range(20))
        own = [places for thread, places in calls if thread == threading.get_ident()]
    goes = [processor for places in own if len(places) == 1 for processor in places]
    assert [a for a, b in zip(goes, [*goes[1:], None], strict=True) if a != b] == [3, 5, 8, 3]
    assert own[-1] == {3, 5, 8}


def test_a_system_that_refuses_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        calls = faked(patch, {0, 1}, refuses=True)
        assert list(ordered(abs, iter(range(20)), 2)) == list(range(20))
        assert calls


def faked(patch: pytest.MonkeyPatch, there: set[int], *, refuses: bool = False) -> list[tuple[int, set[int]]]:
    """Let `os` have these processors; return a list that gets what each thread sets."""
    calls = []

    def set_affinity(_: int, places: frozenset[int]) -> None:
        calls.append((threading.get_ident(), set(places)))
        if refuses:
            raise OSError(22, "Invalid argument")

    patch.setattr(os, "sched_getaffinity", lambda _: there, raising=False)
    patch.setattr(os, "sched_setaffinity", set_affinity, raising=False)
    return calls
