"""The faults' documentation is what their docstrings say, whole, and in step."""

from __future__ import annotations

import inspect

import pytest

from faults.shared.fault_spec import FaultSpec, Injection
from harness.cli.docgen import reference
from harness.cli.listings import faults
from harness.model.errors import BadInput
from harness.run.preflight import feasibility
from harness.run.preflight.kernel_probes import Capability
from harness.spec.fault_index import fault_specs

pytestmark = pytest.mark.pure

KINDS = fault_specs()


def test_the_generated_pages_are_up_to_date() -> None:
    assert reference.FAULT_PAGES.drifted() == [], "make docs writes them anew"


@pytest.mark.parametrize("kind", KINDS)
def test_every_fault_tells_what_it_does_and_what_proves_it(kind: str) -> None:
    spec = KINDS[kind]
    text = spec.__doc__ or ""
    assert "Proof:" in text
    assert len(faults.summary(spec)) > 20
    for one in faults.parameters(spec):
        assert one["description"], f"{kind}.{one['name']} has no description"


@pytest.mark.parametrize("kind", KINDS)
def test_a_fault_needs_only_what_is_probed(kind: str) -> None:
    from harness.run.preflight.kernel_probes import not_probed

    probed = {one.name for one in not_probed("")}
    assert set(KINDS[kind].needs) <= probed


@pytest.mark.parametrize("kind", KINDS)
def test_an_injection_can_be_made_from_its_record(kind: str) -> None:
    injection = KINDS[kind].injection
    assert issubclass(injection, Injection)
    assert not inspect.isabstract(injection)


def test_what_is_lacking_is_told_with_its_reason() -> None:
    found = (
        Capability("tc netem", "delay", False, "Unknown qdisc"),
        Capability("iptables", "cuts", True, "works"),
    )
    assert feasibility.unmet_needs(("iptables", "tc netem"), found) == ["tc netem: Unknown qdisc"]
    assert feasibility.unmet_needs(("iptables",), found) == []
    assert feasibility.unmet_needs(("never heard of",), found) == []


def test_a_list_says_what_is_possible() -> None:
    can = faults.fault_rows((Capability("cgroup freezer", "pause", True, "works"),), "pause")
    cannot = faults.fault_rows((Capability("cgroup freezer", "pause", False, "no freezer"),), "pause")
    unsure = faults.fault_rows((Capability("cgroup freezer", "pause", None, "not probed"),), "pause")
    assert [rows[0]["possible"] for rows in (can, cannot, unsure)] == [True, False, None]
    assert "no freezer" in cannot[0]["reason"]
    assert len(faults.table(can).rows) == 1


def test_an_unknown_fault_is_refused_with_the_nearest() -> None:
    with pytest.raises(BadInput, match="did you mean 'pause'"):
        faults.page("paus")


def test_evidence_is_shown_row_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"kind": "kill", "spec": {"kind": "kill", "target": {"leader": 0}}, "what": "gone | moved"}
    times = {"inject_ms": 12.4, "seen_ms": 4000.0, "heal_ms": 9000.0}
    evidence = {"machine": "here", "rows": [row | times], "impossible": [{"kind": "latency", "reason": "no"}]}
    monkeypatch.setattr(reference.files, "saved", lambda *_: evidence)
    text = reference.fault_pages()["README.md"]
    assert "| kill | `{target: {leader: 0}}` | gone \\| moved | 12 | 4,000 | 9,000 |" in text
    assert "| latency | no |" in text


def test_every_fault_of_the_union_is_a_spec() -> None:
    assert all(issubclass(spec, FaultSpec) for spec in KINDS.values())
