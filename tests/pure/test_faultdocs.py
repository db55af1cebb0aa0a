"""The faults' documentation is what their docstrings say, whole, and in step."""

from __future__ import annotations

import pytest

from faults.base import FaultSpec
from harness import faultdocs, faultlist
from harness.kernel import Capability
from harness.model.errors import BadInput

pytestmark = pytest.mark.pure

KINDS = faultlist.kinds()


def test_the_generated_pages_are_up_to_date() -> None:
    assert faultdocs.drifted() == [], "make docs writes them anew"


@pytest.mark.parametrize("kind", KINDS)
def test_every_fault_tells_what_it_does_and_what_proves_it(kind: str) -> None:
    spec = KINDS[kind]
    text = spec.__doc__ or ""
    assert "Proof:" in text
    assert len(faultlist.summary(spec)) > 20
    for one in faultlist.parameters(spec):
        assert one["description"], f"{kind}.{one['name']} has no description"


@pytest.mark.parametrize("kind", KINDS)
def test_a_fault_needs_only_what_is_probed(kind: str) -> None:
    from harness.kernel import not_probed

    probed = {one.name for one in not_probed("")}
    assert set(KINDS[kind].needs) <= probed


@pytest.mark.parametrize("kind", KINDS)
def test_an_injection_belongs_to_its_fault(kind: str) -> None:
    assert KINDS[kind].injection.model_fields["kind"].default == kind


def test_what_is_lacking_is_told_with_its_reason() -> None:
    found = (
        Capability("tc netem", "delay", False, "Unknown qdisc"),
        Capability("iptables", "cuts", True, "works"),
    )
    assert faultlist.lacking(("iptables", "tc netem"), found) == ["tc netem: Unknown qdisc"]
    assert faultlist.lacking(("iptables",), found) == []
    assert faultlist.lacking(("never heard of",), found) == []


def test_a_list_says_what_is_possible() -> None:
    can = faultlist.listed((Capability("cgroup freezer", "pause", True, "works"),), "pause")
    cannot = faultlist.listed((Capability("cgroup freezer", "pause", False, "no freezer"),), "pause")
    unsure = faultlist.listed((Capability("cgroup freezer", "pause", None, "not probed"),), "pause")
    assert [rows[0]["possible"] for rows in (can, cannot, unsure)] == [True, False, None]
    assert "no freezer" in cannot[0]["reason"]
    assert faultlist.table(can).row_count == 1


def test_an_unknown_fault_is_refused_with_the_nearest() -> None:
    with pytest.raises(BadInput, match="did you mean 'pause'"):
        faultlist.page("paus")


def test_evidence_is_shown_row_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"kind": "kill", "spec": {"kind": "kill", "target": {"leader": 0}}, "what": "gone | moved"}
    times = {"inject_ms": 12.4, "seen_ms": 4000.0, "heal_ms": 9000.0}
    evidence = {"machine": "here", "rows": [row | times], "impossible": [{"kind": "latency", "reason": "no"}]}
    monkeypatch.setattr(faultdocs, "_evidence", lambda: evidence)
    text = faultdocs.files()["README.md"]
    assert "| kill | `{target: {leader: 0}}` | gone \\| moved | 12 | 4,000 | 9,000 |" in text
    assert "| latency | no |" in text


def test_every_fault_of_the_union_is_a_spec() -> None:
    assert all(issubclass(spec, FaultSpec) for spec in KINDS.values())
