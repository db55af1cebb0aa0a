"""Every known bug, in order."""

from __future__ import annotations

from collections.abc import Sequence

from harness.bugs.catalog import from_claims, kafka_17754, kafka_19012, kip_279, kip_890, kip_903
from harness.bugs.model import Bug
from harness.model.did_you_mean import did_you_mean
from harness.model.errors import BadInput

BUGS: tuple[Bug, ...] = (
    from_claims.LOSS,
    from_claims.DIVERGENCE,
    kip_279.BUG,
    from_claims.LAST_STANDING,
    kip_903.BUG,
    kafka_17754.BUG,
    kip_890.BUG,
    kafka_19012.BUG,
)


def chosen(ids: Sequence[str]) -> tuple[Bug, ...]:
    """Bugs by their ids, in whatever case; none given: all.

    Raises:
        BadInput: there is no such bug.
    """
    known = {bug.id.upper(): bug for bug in BUGS}
    for one in ids:
        if one.upper() not in known:
            raise BadInput(
                f"there is no bug {one!r}",
                expected=f"one of {', '.join(bug.id for bug in BUGS)}",
                next_step=did_you_mean(one.upper(), known, "`kafka-chaos bugs --list` lists them"),
            )
    return tuple(known[one] for one in dict.fromkeys(map(str.upper, ids))) or BUGS
