"""What the arms of a known bug can show."""

from __future__ import annotations

from harness.lab.bugs.bug import BugArmResult
from harness.lab.suite.expectations import Observation
from harness.lab.suite.model import Role

MET = Observation(what="acked in one", expected="1", seen="1", ok=True, given=True)

NOT_MET = Observation(what="acked in one", expected="1", seen="0", ok=False, given=True)

INVALID = Observation(what="verdict", expected="invalid: lost", seen="invalid: lost 200", ok=True)

SPARED = Observation(what="verdict", expected="invalid: lost", seen="valid", ok=False)

VALID = Observation(what="verdict", expected="valid", seen="valid", ok=True)

BROKEN = Observation(what="verdict", expected="valid", seen="invalid: lost 200", ok=False)


def arm_result(role: Role, *rows: Observation, doubts: tuple[str, ...] = ()) -> BugArmResult:
    """An arm in this role that has made these observations."""
    return BugArmResult(role=role, experiment="x", arm=f"{role}-arm", folder="f", doubts=doubts, rows=rows)
