"""The textbook's claims on real brokers, one test per claim; those too long for every change are `soak`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.lab.claims.claim import CLAIMS, Claim
from harness.lab.suite.model import SuiteVerdict
from tests.chaos.support.suite import Started, run_on

pytestmark = [pytest.mark.chaos, pytest.mark.soak]


def case(claim: Claim) -> object:
    name = re.sub("[^a-z0-9=]+", "-", claim.title.lower())
    return pytest.param(claim, id=f"{claim.id}-{name}".strip("-"))


def shares_cluster(claim: Claim) -> str:
    """The sort key: claims on the same cluster run one after the other, so each cluster is started once."""
    return claim.arms[0].experiment.cluster.model_dump_json()


@pytest.mark.parametrize("claim", [case(claim) for claim in sorted(CLAIMS, key=shares_cluster)])
def test_claim(claim: Claim, started: Started, results: Path) -> None:
    result = run_on(claim, started, results)
    assert result.verdict is SuiteVerdict.YES, "\n".join(result.reasons)
