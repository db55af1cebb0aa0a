"""Who drops whom, and the scripts that make it so."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faults.rules import Cut, insert_script, remove_script, symmetric

pytestmark = pytest.mark.pure
nodes = st.frozensets(st.integers(1, 9), max_size=6)


@given(nodes, nodes)
def test_a_symmetric_cut_is_deaf_both_ways_and_only_between_the_sides(
    here: frozenset[int], there: frozenset[int]
) -> None:
    cuts = symmetric(here, there)
    assert cuts == {Cut(cut.receiver, cut.sender) for cut in cuts}
    assert symmetric(there, here) == cuts
    for cut in cuts:
        assert cut.sender != cut.receiver
        assert (cut.sender in here and cut.receiver in there) or (
            cut.sender in there and cut.receiver in here
        )
    for one in here:
        for two in there - {one}:
            assert Cut(one, two) in cuts


def test_every_rule_carries_the_tag() -> None:
    script = insert_script([("INPUT", "10.0.0.2"), ("OUTPUT", "10.0.0.2")], "run-1")
    rules = [line for line in script.splitlines() if "iptables" in line]
    assert len(rules) == 2
    assert all("--comment run-1" in rule and rule.endswith("-j DROP") for rule in rules)
    assert "-I INPUT -s 10.0.0.2" in rules[0]
    assert "-I OUTPUT -d 10.0.0.2" in rules[1]


def test_removal_looks_for_the_tag_only() -> None:
    assert "grep -F -- run-1" in remove_script("run-1")
    assert "iptables -F" not in remove_script("run-1")
