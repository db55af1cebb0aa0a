"""Every claim, in order, and those that cannot be put to the test yet."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
import re
from collections.abc import Sequence

import harness.claims
from harness.claims.frame import Claim, NotYet
from harness.model.errors import BadInput


def _found() -> tuple[Claim, ...]:
    """The claims of the modules that are named after one, by their numbers."""
    names = sorted(module.name for module in pkgutil.iter_modules(harness.claims.__path__))
    modules = [name for name in names if re.fullmatch(r"r\d\d", name)]
    return tuple(importlib.import_module(f"harness.claims.{name}").CLAIM for name in modules)


CLAIMS: tuple[Claim, ...] = _found()

_ZOOKEEPER = "needs a cluster with ZooKeeper and brokers of old, which cannot be started yet"

NOT_YET: tuple[NotYet, ...] = (
    NotYet(
        "R6",
        "Leader epochs prevent loss when a follower restarts before it has learned the high watermark",
        f"the control arm, inter-broker protocol 0.10.2, {_ZOOKEEPER}",
    ),
    NotYet(
        "R7",
        "Leader epochs prevent divergence after both replicas die",
        f"the control arm, inter-broker protocol 0.10.2, {_ZOOKEEPER}",
    ),
    NotYet("R21", "The same holds with ZooKeeper controllers and with KRaft", _ZOOKEEPER),
)


def chosen(ids: Sequence[str]) -> tuple[Claim, ...]:
    """Claims by their ids, in whatever case; none given: all.

    Raises:
        BadInput: there is no such claim, or it cannot be put to the test yet.
    """
    known = {claim.id: claim for claim in CLAIMS}
    wanted = [one.upper() for one in ids]
    for number in wanted:
        later = next((one for one in NOT_YET if one.id == number), None)
        if later is not None:
            raise BadInput(
                f"claim {number} cannot be put to the test yet",
                where=later.title,
                found=later.reason,
                next_step="`kafka-chaos claims --list` shows which can",
            )
        if number not in known:
            close = difflib.get_close_matches(number, known, n=1)
            raise BadInput(
                f"there is no claim {number!r}",
                expected=f"one of {', '.join(known)}",
                next_step=f"did you mean {close[0]}?" if close else "`kafka-chaos claims --list` lists them",
            )
    return tuple(known[number] for number in dict.fromkeys(wanted)) or CLAIMS


def listed() -> list[Claim | NotYet]:
    """All, those that cannot be put to the test yet among them, by their numbers."""
    return sorted([*CLAIMS, *NOT_YET], key=lambda one: int(one.id[1:]))
