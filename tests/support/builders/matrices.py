"""A small matrix, two by two, and its runs on paper, without brokers."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import yaml

from harness.many.matrix.plan import MatrixOptions, plan_matrix
from harness.many.matrix.result import MatrixResult, MatrixStore
from harness.many.matrix.runner import MatrixRun
from harness.many.matrix.spec import MATRIX, MatrixSpec
from tests.support.fake_backend import FakeBackend

SMALL: dict[str, Any] = {
    "name": "small",
    "title": "Two by two",
    "base": {
        "topic": {"partitions": 1, "config": {"min.insync.replicas": 2}},
        "steps": [{"write": {"name": "steady", "seconds": 5}}],
    },
    "axes": {
        "acks": {"producer": "acks", "values": [1, "all"]},
        "fault": {
            "levels": {
                "kill": {"faults": [{"fault": {"kill": {"target": {"leader": 0}}}, "at": 1, "for": 2}]},
                "none": {"faults": []},
            }
        },
    },
    "repeats": 3,
}


def parsed_matrix(**changes: Any) -> MatrixSpec:
    """SMALL with other values of its keys."""
    return MATRIX.parse(yaml.safe_dump(SMALL | changes), "small.yaml")


NO_OPTIONS = MatrixOptions()


def write_matrix(tmp_path: Path, **changes: Any) -> str:
    """The same as a file."""
    path = tmp_path / "small.yaml"
    path.write_text(yaml.safe_dump(SMALL | changes))
    return str(path)


def run_matrix(
    tmp_path: Path, backend: FakeBackend, seed: int = 5, **changes: Any
) -> tuple[MatrixStore, MatrixResult]:
    """Run all of it against a fake backend."""
    store = MatrixStore.created(tmp_path / "results", "small")
    plan = plan_matrix(write_matrix(tmp_path, **changes), None, NO_OPTIONS, seed)
    return store, MatrixRun(plan, store, "kafka-chaos matrix small.yaml", backend).execute()


def resume_matrix(
    store: MatrixStore, backend: FakeBackend, changes: MatrixOptions = NO_OPTIONS
) -> MatrixResult:
    """Make the runs that are left."""
    plan = plan_matrix(None, store.folder, changes, 99)
    return MatrixRun(plan, store, "", backend).execute()


def runs_made(backend: FakeBackend) -> Counter[str]:
    """How often each run of each arm was made."""
    return Counter(" ".join(line.split()[:2]) for line in backend.lines())


def run_one_axis(tmp_path: Path) -> MatrixResult:
    """A matrix whose only axis is acks."""
    faults = SMALL["axes"]["fault"]["levels"]["kill"]["faults"]
    steps = [{"write": {"name": "steady", "seconds": 5, "faults": faults}}]
    return run_matrix(
        tmp_path, FakeBackend(tmp_path / "log"),
        axes={"acks": SMALL["axes"]["acks"]}, base=SMALL["base"] | {"steps": steps},
    )[1]  # fmt: skip
