"""The members of a share group as processes: killed, stopped, replaced and closed."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from workloads.share.member_loop import MemberSettings
from workloads.share.member_process import ShareSinks
from workloads.share.share_group import BEGIN_SECONDS, ShareGroupMembers
from workloads.share.share_spec import ShareSpec

pytestmark = pytest.mark.pure

MEMBER = """
import json, sys, time
settings = json.loads(sys.stdin.readline())
def say(**fields): print(json.dumps(fields), flush=True)
# In one piece, so that a kill does not come in between.
lines = [{"joined": time.time_ns()}, {"given": 2, "asked": 1, "rows": [[0, 7, 1, "ok", 1, 0, 7]]}]
print("\\n".join(map(json.dumps, lines)), flush=True)
if settings["more"].get("dies"):
    say(died="fenced")
    raise SystemExit(1)
sys.stdin.readline()
say(closing=time.time_ns())
say(closed=time.time_ns())
"""


class _Rows(list[dict[str, Any]]):
    """Takes rows, from several threads."""


def _group(tmp_path: Path, *, dies: bool = False, **changes: Any) -> tuple[ShareGroupMembers, _Rows, _Rows]:
    script = tmp_path / "member.py"
    script.write_text(MEMBER)
    deliveries, events = _Rows(), _Rows()

    def settings(name: str, session: int) -> MemberSettings:
        return MemberSettings(
            properties={},
            topic="t",
            run_id=1,
            seed=f"{name}/{session}",
            acknowledge="accept",
            hold=0.0,
            explicit=True,
            wait=True,
            more={"dies": dies},
        )

    group = ShareGroupMembers(
        ShareSpec(name="q", members=2, **changes),
        group_id="q-1",
        topic="t",
        sinks=ShareSinks(deliveries, events),
        settings=settings,
        command=(sys.executable, str(script)),
    )
    return group, deliveries, events


def _start(group: ShareGroupMembers) -> None:
    group.start_members()
    group.await_members(time.monotonic() + BEGIN_SECONDS)
    group.begin()


def _until(what: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _told(events: _Rows) -> Counter[tuple[str, int, str]]:
    return Counter((row["member"], row["session"], row["event"]) for row in events if "member" in row)


def test_a_killed_member_and_a_closed_one_get_successors(tmp_path: Path) -> None:
    group, deliveries, events = _group(tmp_path, kills=(0.0,), restarts=(0.0,))
    _start(group)
    _until(lambda: _told(events)["q-0", 2, "joined"] == 1)
    group.finish_events(time.monotonic() + 60)
    group.close()
    assert _told(events) == {
        ("q-0", 0, "joined"): 1,
        ("q-0", 0, "killed"): 1,
        ("q-0", 1, "joined"): 1,
        ("q-0", 1, "closing"): 1,
        ("q-0", 2, "joined"): 1,
        ("q-0", 2, "closing"): 1,
        ("q-1", 0, "joined"): 1,
        ("q-1", 0, "closing"): 1,
    }
    # What a member had when it ended is journaled, without an acknowledgement.
    assert Counter((row["member"], row["session"]) for row in deliveries) == {
        ("q-0", 0): 1,
        ("q-0", 1): 1,
        ("q-0", 2): 1,
        ("q-1", 0): 1,
    }
    assert {row.get("acknowledgement") for row in deliveries} == {None}
    assert group.problems == ()
    info = group.info()
    assert (info.deliveries, info.closed, info.group) == (4, True, "q-1")


def test_a_stopped_member_continues(tmp_path: Path) -> None:
    group, _, events = _group(tmp_path, pauses=({"at": 0.0, "seconds": 0.1},))
    _start(group)
    _until(lambda: _told(events)["q-0", 0, "resumed"] == 1)
    group.close()
    assert [row["event"] for row in events if row["member"] == "q-0"] == [
        *("joined", "paused", "resumed", "closing"),
    ]


def test_members_leave_while_an_administrator_changes_the_group(tmp_path: Path) -> None:
    group, _, events = _group(tmp_path)
    _start(group)
    group.stop_members()
    group.alter("start offsets moved to {0: 0}")
    group.start_members()
    _until(lambda: _told(events)["q-1", 1, "joined"] == 1)
    group.close()
    assert [row["detail"] for row in events if row["event"] == "altered"] == ["start offsets moved to {0: 0}"]
    assert group.problems == ()


def test_a_member_that_ends_by_itself_is_a_problem(tmp_path: Path) -> None:
    group, _, events = _group(tmp_path, dies=True)
    _start(group)
    _until(lambda: len(group.problems) == 2)
    group.close()
    assert group.problems == ("a member of share group q ended early: fenced",) * 2
    assert _told(events)["q-0", 0, "died"] == 1


def test_giving_up_kills(tmp_path: Path) -> None:
    group, _, events = _group(tmp_path)
    _start(group)
    group.close(give_up=True)
    group.close()
    assert {row["event"] for row in events} == {"joined", "killed"}
