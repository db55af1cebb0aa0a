"""The textbook's claims on real brokers, a test a claim; those too long for every change are `soak`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from harness.claims.frame import Answer, Claim
from harness.claims.registry import CLAIMS
from harness.claims.running import run_on
from harness.cluster import Cluster
from harness.execution import Options
from harness.spec import ClusterSpec

pytestmark = pytest.mark.chaos

Started = Callable[[ClusterSpec], Cluster]


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    """A cluster of a spec: the one that is up, if it is of this spec, else a new one in its place."""
    up: list[Cluster] = []
    with ExitStack() as stack:

        def cluster(spec: ClusterSpec) -> Cluster:
            if not up or up[-1].spec != spec:
                stack.close()
                up[:] = [stack.enter_context(Cluster(spec, log_folder=tmp_path_factory.mktemp("logs")))]
            return up[-1]

        yield cluster


def a_test(claim: Claim) -> object:
    name = re.sub("[^a-z0-9=]+", "-", claim.title.lower())
    return pytest.param(
        claim, marks=() if claim.by_day else pytest.mark.soak, id=f"{claim.id}-{name}".strip("-")
    )


def shares_cluster(claim: Claim) -> str:
    """Claims with this in common come one after the other, so that each cluster is started once."""
    return claim.trials[0].experiment.cluster.model_dump_json()


@pytest.mark.parametrize("claim", [a_test(claim) for claim in sorted(CLAIMS, key=shares_cluster)])
def test_claim(claim: Claim, started: Started, results: Path) -> None:
    result = run_on(started, claim, Options(results=results))
    assert result.answer is Answer.YES, "\n".join(result.reasons)
