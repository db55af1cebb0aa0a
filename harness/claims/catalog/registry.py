"""Every claim, in order."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Sequence

from harness.claims import catalog
from harness.model.did_you_mean import did_you_mean
from harness.model.errors import BadInput
from harness.suite.model import Claim


def _found() -> tuple[Claim, ...]:
    """The claims of the modules that are named after one, by their numbers."""
    names = sorted(module.name for module in pkgutil.iter_modules(catalog.__path__))
    modules = [name for name in names if re.fullmatch(r"r\d\d", name)]
    return tuple(importlib.import_module(f"{catalog.__name__}.{name}").CLAIM for name in modules)


CLAIMS: tuple[Claim, ...] = _found()


def chosen(ids: Sequence[str]) -> tuple[Claim, ...]:
    """Claims by their ids, in whatever case; none given: all.

    Raises:
        BadInput: there is no such claim.
    """
    known = {claim.id: claim for claim in CLAIMS}
    wanted = [one.upper() for one in ids]
    for number in wanted:
        if number not in known:
            raise BadInput(
                f"there is no claim {number!r}",
                expected=f"one of {', '.join(known)}",
                next_step=did_you_mean(number, known, "`kafka-chaos claims --list` lists them"),
            )
    return tuple(known[number] for number in dict.fromkeys(wanted)) or CLAIMS
