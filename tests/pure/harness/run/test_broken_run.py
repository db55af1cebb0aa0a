"""What the metadata of a run that broke say of the reason."""

from __future__ import annotations

import pytest

from harness.model.errors import ClusterError
from harness.run.experiment_run import _reason

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (KeyboardInterrupt(), "interrupted"),
        (
            ClusterError(
                "it was not ready within 3 s", where="application 0", found="its last lines: loading"
            ),
            "it was not ready within 3 s: its last lines: loading",
        ),
        (ClusterError("it is gone", next_step="start it again"), "it is gone"),
        (ValueError("x"), "ValueError('x')"),
    ],
)
def test_the_reason_why_a_run_broke(error: BaseException, told: str) -> None:
    assert _reason(error) == told
