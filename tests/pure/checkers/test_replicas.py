"""What the replicas' files hold, broker beside broker; in chunks as in one piece."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from checkers.facts import replicas
from checkers.facts.replicas import HOLDINGS, ReplicaLog, holdings
from checkers.journals.footers import row_groups
from checkers.journals.load import load_run
from tests.support.history import History, write_run

pytestmark = pytest.mark.pure


def rows_of(folder: Path) -> set[tuple[object, ...]]:
    files = load_run(folder).files.replicas
    log = ReplicaLog.of(0, 1, 40, row_groups(files, identities=False))
    chunks = list(holdings(log, {"t": 0}))
    return {
        tuple(values)
        for chunk in chunks
        for values in zip(*(np.asarray(chunk[name]).tolist() for name in HOLDINGS), strict=True)
    }


def test_in_chunks_as_in_one_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(3)
    history = History().send(0, at=0)
    for at in range(45):
        for broker in (1, 2, 3):
            if draw.random() < 0.8:
                history.replica(broker, at + draw.randrange(2), at=at)
    write_run(tmp_path, history, row_group=4)
    whole = rows_of(tmp_path)
    assert {row[0] for row in whole} == set(range(40)), "what is at or above the end does not count"
    for rows in (10, 30, 70):
        monkeypatch.setattr(replicas, "CHUNK_ROWS", rows)
        assert rows_of(tmp_path) == whole


def test_flags_of_each_broker(tmp_path: Path) -> None:
    history = History().send(0, at=0)
    for broker, held in {1: {0: 0, 1: 1, 2: 2}, 2: {0: 0, 1: 9, 3: 3}, 3: {1: 1, 3: 4}}.items():
        for at, seq in held.items():
            history.replica(broker, seq, at=at)
    write_run(tmp_path, history)
    told = {(row[0], row[1]): row[2:] for row in rows_of(tmp_path)}
    # held, leader_holds, as_leader, all_alike, within
    assert told[0, 1] == (True, True, True, True, False)
    assert told[0, 2] == (True, True, True, True, False)
    assert told[1, 2] == (True, True, False, False, True)
    assert told[1, 3] == (True, True, True, False, False)
    assert told[2, 2] == (False, True, False, True, True)
    assert told[3, 2] == (True, False, False, False, False)
    assert told[0, 3] == (False, True, False, True, False)
