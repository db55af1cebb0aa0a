"""Files of other chaos tools: recognised by name, with what to do instead."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from harness.model.config.other_files import _table, recognised
from harness.model.errors import BadInput
from harness.spec.experiment_files import EXPERIMENT, parse
from tests.support.command_line import call
from tests.support.foreign_files import WITH_EQUALS, WITHOUT_EQUALS, chaos_mesh
from tests.support.paths import ROOT

pytestmark = pytest.mark.pure

CASES = ROOT / "tests/support/cases"
PAGE = "docs/how-to/other-chaos-tools.md"


@pytest.mark.parametrize(("document", "what"), WITH_EQUALS)
def test_what_has_an_equal_is_named_with_the_page_that_names_it(document: dict[str, Any], what: str) -> None:
    found = recognised(document, "theirs.yaml")
    assert found is not None
    assert found.what == what
    assert found.has_equal
    assert found.next_step.startswith(f"write it as an experiment: {PAGE} names the faults that do the same")


@pytest.mark.parametrize(("document", "what"), WITHOUT_EQUALS)
def test_what_has_no_equal_is_named_with_what_can_take_its_place(document: dict[str, Any], what: str) -> None:
    found = recognised(document, "theirs.yaml")
    assert found is not None
    assert found.what == what
    assert not found.has_equal
    assert found.next_step == f"{PAGE} says what can take its place"


def test_the_page_has_every_kind_with_an_equal() -> None:
    page = (ROOT / PAGE).read_text()
    for row in _table():
        if row.get("equals", "any") != "any":
            assert [kind for kind in row["equals"] if kind not in page] == []


def test_several_documents_with_windows_line_ends_and_a_bom() -> None:
    documents = [{"apiVersion": "v1", "kind": "ConfigMap"}, chaos_mesh("PodChaos", action="pod-kill")]
    text = "\ufeff# ours\r\n---\r\n" + yaml.safe_dump_all(documents).replace("\n", "\r\n")
    with pytest.raises(BadInput, match="this is a ConfigMap of Kubernetes, not an experiment"):
        parse(text, "several.yaml")


def test_lines_of_comment_that_trogdor_allows() -> None:
    text = (
        '// a task\n{\n  // its class\n  "class": "org.apache.kafka.trogdor.fault.ProcessStopFaultSpec"\n}\n'
    )
    with pytest.raises(BadInput, match="this is a ProcessStopFaultSpec of Trogdor, not an experiment"):
        parse(text, "task.json")


@pytest.mark.parametrize("text", ["", "[1, 2]", "a: b", "{", "name: x\ntitle: y"])
def test_what_is_no_file_of_a_tool(text: str) -> None:
    with pytest.raises(BadInput) as refused:
        parse(text, "theirs.yaml")
    assert PAGE not in str(refused.value)


@pytest.mark.parametrize("command", ["plan", "run", "matrix"])
@pytest.mark.parametrize(
    ("file", "what"),
    [
        ("y1-networkchaos.yaml", "this is a NetworkChaos of Chaos Mesh, not a"),
        ("y3-trogdor.json", "this is a NetworkPartitionFaultSpec of Trogdor, not a"),
    ],
)
def test_a_file_given_to_another_command_is_named(
    command: str, file: str, what: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, command, str(CASES / file)) == 2
    told = capsys.readouterr().err
    assert what in told
    assert f"write it as an experiment: {PAGE} names the faults that do the same" in told
    assert "kafka-chaos experiments --show cut-then-kill" in told
    assert len(told.splitlines()) == 3


def test_the_table_of_tools_names_what_there_is() -> None:
    for row in (row for row in _table() if "folder" not in row):
        for names in row.get("like", {}).values():
            assert set(names.values()) <= set(EXPERIMENT.builtin_names())
    redpanda = {"scenario": "s", "workload": {}, "fault": {"name": "pause_leader"}}
    found = recognised(redpanda, "f.json")
    assert found is not None
    assert found.what == "a test of Redpanda's chaos suite"
    assert "kafka-chaos experiments --show standard" in found.next_step
    assert not found.has_equal
