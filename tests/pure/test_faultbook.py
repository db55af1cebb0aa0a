"""Faults are journaled at every moment, healed once, and a failure keeps nothing else open."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from faults.base import Cluster, Evidence, FaultSpec, Injection, Scene
from harness.faultbook import FaultBook
from harness.model.errors import FaultError

pytestmark = pytest.mark.pure


@dataclass
class Effect:
    """An injection that does as it is told."""

    target: str = "broker 1"
    seen: bool = True
    heals: int = 0
    heal_fails: bool = False

    def verify(self) -> Evidence:
        return Evidence(self.seen, "looked", {"count": 3})

    def heal(self) -> str:
        self.heals += 1
        if self.heal_fails:
            raise FaultError("it does not heal")
        return "healed"


class Planned(FaultSpec):
    """A fault that injects what it was given."""

    kind: str = "planned"
    fails: bool = False

    def inject(self, scene: Scene) -> Injection:
        if self.fails:
            raise FaultError("no such target")
        return EFFECTS[scene.tag]


EFFECTS: dict[str, Effect] = {}


@dataclass
class Rows:
    rows: list[dict[str, Any]] = field(default_factory=list)

    def append(self, row: dict[str, Any]) -> None:
        self.rows.append(row)

    def phases(self) -> list[tuple[str, str]]:
        return [(row["fault"], row["phase"]) for row in self.rows]


@pytest.fixture
def rows() -> Rows:
    EFFECTS.clear()
    return Rows()


@pytest.fixture
def book(rows: Rows) -> FaultBook:
    return FaultBook(lambda name: Scene(cast(Cluster, None), "t", 1.0, name), rows)


def test_the_life_of_a_fault_is_journaled(book: FaultBook, rows: Rows) -> None:
    EFFECTS["planned-1"] = Effect()
    fault = book.inject(Planned())
    assert book.open_names() == "planned-1 (broker 1)"
    assert book.verify(fault)
    book.heal(fault)
    assert rows.phases() == [
        ("planned-1", "decided"),
        ("planned-1", "injected"),
        ("planned-1", "verified"),
        ("planned-1", "healed"),
    ]
    (window,) = book.windows()
    assert window.verified
    assert window.closed_ns is not None
    assert window.closed_ns >= window.opened_ns
    assert book.open_names() == ""


def test_healing_twice_heals_once(book: FaultBook) -> None:
    EFFECTS["planned-1"] = effect = Effect()
    fault = book.inject(Planned())
    book.heal(fault)
    book.heal(fault)
    assert book.heal_all() == []
    assert effect.heals == 1


def test_an_effect_that_was_not_seen_stays_unverified(book: FaultBook, rows: Rows) -> None:
    EFFECTS["planned-1"] = Effect(seen=False)
    assert not book.verify(book.inject(Planned()))
    assert rows.phases()[-1] == ("planned-1", "not-verified")
    assert not book.windows()[0].verified


def test_a_failed_heal_is_told_and_the_others_are_healed(book: FaultBook, rows: Rows) -> None:
    EFFECTS["planned-1"] = good = Effect()
    EFFECTS["planned-2"] = Effect(heal_fails=True)
    book.inject(Planned())
    book.inject(Planned())
    (failure,) = book.heal_all()
    assert "planned-2" in failure
    assert good.heals == 1
    assert ("planned-2", "failed") in rows.phases()
    assert [window.closed_ns is None for window in book.windows()] == [False, True]


def test_a_failed_injection_opens_no_window(book: FaultBook, rows: Rows) -> None:
    with pytest.raises(FaultError):
        book.inject(Planned(fails=True))
    assert rows.phases() == [("planned-1", "decided"), ("planned-1", "failed")]
    assert book.windows() == ()
