"""`python -m tests.support.fault_tests FAULT`: the files of tests on real brokers that concern one fault."""

from __future__ import annotations

import re
import sys

from harness.model.errors import BadInput, did_you_mean
from harness.spec.fault_index import fault_specs
from tests.support.paths import ROOT

FOLDER = ROOT / "tests" / "chaos" / "faults"


def files_of(fault: str) -> list[str]:
    """The files that name the fault's class, as pytest takes them.

    Raises:
        BadInput: there is no such fault, or no such file.
    """
    known = fault_specs()
    if fault not in known:
        raise BadInput(
            "there is no such fault",
            where=f"FAULT={fault}",
            expected=f"one of {', '.join(known)}",
            found=fault,
            next_step=did_you_mean(fault, known, "`make evidence` without FAULT proves them all"),
        )
    named = re.compile(rf"\b{known[fault].__name__}\b")
    found = [path for path in sorted(FOLDER.glob("test_*.py")) if named.search(path.read_text())]
    if not found:
        raise BadInput(
            "no test proves this fault on real brokers",
            where=str(FOLDER.relative_to(ROOT)),
            expected=f"a test that names {known[fault].__name__}",
            found="none",
            next_step="write one with the fixture `prove`, as CONTRIBUTING.md shows",
        )
    return [str(path.relative_to(ROOT)) for path in found]


if __name__ == "__main__":
    try:
        print(*files_of(*sys.argv[1:2]))
    except BadInput as error:
        print(error, file=sys.stderr)
        sys.exit(2)
