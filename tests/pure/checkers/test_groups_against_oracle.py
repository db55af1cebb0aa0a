"""Random histories of a group, judged by the check and by the plain-Python oracle."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from checkers.facts.columns import NULL
from checkers.facts.deliveries import Unit
from checkers.facts.group_journals import GroupFiles, read_group, read_tables
from checkers.facts.offsets import Ranges
from checkers.facts.progress import AHEAD, EARLY, FOREIGN, LOST, SHARED, STALE, progress_of
from harness.model.journal import ASSIGNMENTS_DIR, COMMITS_DIR, LIVE_DIR, OFFSETS_DIR
from tests.support.group_history import GROUP, READERS, SESSION, GroupHistory
from tests.support.group_oracle import GroupFinding, group_findings
from tests.support.history import SECOND, TOPIC
from tests.support.random_histories import examples

pytestmark = pytest.mark.pure

NAMES = {
    LOST: "commit_lost",
    STALE: "commit_stale",
    AHEAD: "commit_ahead",
    EARLY: "commit_ahead",
    FOREIGN: "foreign_commit",
    SHARED: "two_owners",
}
LOG = 8
members = st.sampled_from(READERS)
offsets = st.integers(0, LOG)
times = st.integers(0, 15)
spans = st.tuples(times, st.integers(0, 12))
commits = st.tuples(
    members,
    offsets,
    spans,
    st.sampled_from([None, None, None, "ABORTED", "_TIMED_OUT"]),
    st.sampled_from(["request", "request", "auto", "transaction", None]),
)
histories = st.fixed_dictionaries(
    {
        "commits": st.lists(commits, max_size=6),
        "answers": st.lists(
            st.tuples(spans, st.none() | offsets, st.sampled_from([None, None, None, "NOT_COORDINATOR"])),
            max_size=5,
        ),
        "owners": st.lists(
            st.tuples(members, spans, st.sampled_from(["revoked", "revoked", "lost", None])), max_size=5
        ),
        "given": st.lists(st.tuples(members, times, st.integers(0, LOG - 1)), max_size=12),
        "logged": st.lists(st.none() | offsets, max_size=4),
    }
)


def built(drawn: dict[str, Any]) -> GroupHistory:
    """Moments are a little apart by kind, so that no two events that matter have the same time."""
    history = GroupHistory(log=LOG)
    for number, (reader, offset, (begin, lasts), error, kind) in enumerate(drawn["commits"]):
        asked = None if kind == "auto" else begin + 0.1 + number / 100
        at = begin + lasts + 0.2 + number / 100
        history.commit(reader, offset, at, asked=asked, error=error, kind=kind)
    for number, ((begin, lasts), offset, error) in enumerate(drawn["answers"]):
        asked = begin + 0.3 + number / 100
        history.answer(offset, asked + lasts + 0.005, asked=asked, error=error)
    for number, (reader, (begin, lasts), how) in enumerate(drawn["owners"]):
        since = begin + 0.5 + number / 100
        history.own(reader, since, None if how is None else since + lasts + 0.005, how=how or "")
    for reader, time, offset in drawn["given"]:
        history.give(reader, time + 0.7, offset, offset)
    return history.logged(*drawn["logged"])


def found(history: GroupHistory, folder: Path) -> set[GroupFinding]:
    history.write_journals(folder)
    names = (*READERS, "other")

    def files(name: str) -> tuple[str, ...]:
        return tuple(map(str, sorted((folder / name).glob("*.parquet"))))

    unit = Unit(
        GROUP,
        group=True,
        committed=False,
        readers=tuple((number, name, files(f"{LIVE_DIR}/{name}")) for number, name in enumerate(READERS)),
        rows=0,
    )
    shared = GroupFiles(
        files(ASSIGNMENTS_DIR),
        files(COMMITS_DIR),
        files(OFFSETS_DIR),
        dict.fromkeys(range(len(names)), SESSION * SECOND),
        retention_ns=10**18,
    )
    rows = progress_of(
        read_group(unit, read_tables(shared), {TOPIC: 0}),
        shared,
        {0: Ranges.of(np.arange(LOG, dtype=np.int64))},
    )
    return {
        GroupFinding(
            NAMES[int(rows["kind"][number])],
            tuple(
                names[int(rows[name][number])] for name in ("reader", "other") if rows[name][number] != NULL
            ),
            int(rows["offset"][number]),
            int(rows["count"][number]),
        )
        for number in range(len(rows))
    }


@settings(max_examples=examples(80), deadline=None, suppress_health_check=list(HealthCheck))
@given(histories)
def test_they_agree_on_every_finding(drawn: dict[str, Any]) -> None:
    history = built(drawn)
    with tempfile.TemporaryDirectory() as folder:
        assert found(history, Path(folder)) == group_findings(history)
