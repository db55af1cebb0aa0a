"""Promises as people write them in an experiment."""

from __future__ import annotations

import pytest

from checkers.judgement.promise import Bound, check_promise, parse_promise
from harness.model.errors import BadInput

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("0", Bound(0, 0)),
        ("12", Bound(12, 12)),
        (">= 1", Bound(1, None)),
        (">=1", Bound(1, None)),
        ("<= 5", Bound(0, 5)),
        (" any ", Bound(0, None)),
        ("acked in after-cut", Bound(step="after-cut")),
        ("acked in  the second step", Bound(step="the second step")),
    ],
)
def test_forms(text: str, bound: Bound) -> None:
    assert parse_promise(text) == bound


@pytest.mark.parametrize(
    "text", ["", "none", "-1", "> 1", "= 1", "1.5", "acked in", "acked in ", ">= ", "1 2", "٣"]
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_promise(text)
    assert caught.value.found == repr(text.strip())
    assert '">= 1"' in (caught.value.expected or "")


@pytest.mark.parametrize(
    ("bound", "inside", "outside"),
    [
        (Bound(0, 0), [0], [1]),
        (Bound(2, 2), [2], [1, 3]),
        (Bound(1, None), [1, 10**9], [0]),
        (Bound(0, 5), [0, 5], [6]),
        (Bound(), [0, 10**9], []),
        (Bound.exactly(3), [3], [2, 4]),
    ],
)
def test_bounds_include_their_ends(bound: Bound, inside: list[int], outside: list[int]) -> None:
    assert all(bound.holds(count) for count in inside)
    assert not any(bound.holds(count) for count in outside)


def test_only_too_many_exceed() -> None:
    assert not Bound(3, 5).exceeded(2)
    assert not Bound(3, 5).exceeded(5)
    assert Bound(3, 5).exceeded(6)
    assert not Bound(3, None).exceeded(10**9)


def test_a_good_promise_passes() -> None:
    check_promise(
        {"lost": "acked in after-cut", "duplicate": "any", "recovered": ">= 0"}, ["before", "after-cut"]
    )


@pytest.mark.parametrize(
    ("mapping", "where", "next_step"),
    [
        ({"losst": "0"}, "promise.losst", "did you mean 'lost'?"),
        ({"zebra": "0"}, "promise.zebra", "name a class from the list"),
        ({"lost": "0", "duplicate": "few"}, "promise.duplicate", "write how many findings"),
        ({"lost": "acked in after-cutt"}, "promise.lost", "did you mean 'after-cut'?"),
        ({"lost": "acked in zzz"}, "promise.lost", "name a write step of the experiment"),
    ],
)
def test_a_bad_promise_says_where_and_what_instead(
    mapping: dict[str, str], where: str, next_step: str
) -> None:
    with pytest.raises(BadInput) as caught:
        check_promise(mapping, ["before", "after-cut"])
    assert caught.value.where == where
    assert caught.value.expected
    assert (caught.value.next_step or "").startswith(next_step)


def test_no_write_steps_at_all() -> None:
    with pytest.raises(BadInput, match="it has none"):
        check_promise({"lost": "acked in x"}, [])
