"""When a share group counts as one whose members are given nothing any more."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from workloads.share import share_groups
from workloads.share.share_groups import ShareGroups

pytestmark = pytest.mark.pure

BEGUN = 1000.0


@pytest.mark.parametrize(
    ("given", "kill", "after", "quiet"),
    [
        # Ten seconds after the heal brokers may still forget who holds what, so that nothing would be judged.
        (6.0, None, 19, False),
        (6.0, None, 21, True),
        # A group that was given nothing may have to be begun by another coordinator, 30 s after it took over.
        (None, None, 49, False),
        (None, None, 51, True),
        # And two locks, here of 12 s each, must have passed since then.
        (12.0, None, 35, False),
        (12.0, None, 39, True),
        # A killed member's partitions are without one until its session has ended.
        (6.0, -5.0, 59, False),
        (6.0, -5.0, 61, True),
    ],
)
def test_nothing_is_given_any_more(
    given: float | None, kill: float | None, after: float, quiet: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = 12.0 if given == 12.0 else 3.0
    group: Any = SimpleNamespace(
        spec=SimpleNamespace(hold=0.0),
        lock_seconds=lock,
        last_kill=None if kill is None else BEGUN + kill,
        last_delivery_ns=0 if given is None else round(given * 1e9),
    )
    groups: Any = SimpleNamespace(_session_seconds=45.0)
    monkeypatch.setattr(share_groups.time, "monotonic", lambda: BEGUN + after)
    assert ShareGroups._quiet(groups, group, BEGUN, 0) is quiet
