"""Files of claims: values, shared experiments and clusters are put in, and mistakes are located."""

from __future__ import annotations

import pytest
import yaml
from jsonschema import Draft202012Validator

from harness.lab.bugs.bug import BUG
from harness.lab.claims.claim import CLAIM, CLAIMS, Claim
from harness.lab.suite.model import SuiteItem
from harness.lab.suite.written_expectations import EXPECTATIONS
from harness.model.config.yaml_files import FileKind
from harness.model.errors import BadInput

pytestmark = pytest.mark.pure

TEXT = """
id: MINE
title: A broker that dies loses nothing
words: Nothing is lost.
set_up: A broker is killed.
with:
  dead: 1
  written:
  - given: {acked: {step: before, count: 5}}
  - acked: {step: after, count: 5}
experiments:
  kill:
    name: mine-$name
    title: Broker $dead dies, $$1 ($name)
    topic: {assignment: [{repeat: [1, 2, 3], times: $partitions}]}
    steps:
    - write: {name: before, records: 5}
    - $fault
    - write: {name: after, records: 5}
    - heal:
    arms: [{name: $name, producer: {acks: all}}]
arms:
- role: claim
  with: {name: killed, partitions: 2, fault: [inject: {kill: {target: {broker: $dead}}}]}
  expect:
  - $written
  - lost: 0
- role: control
  with: {name: left-alone, partitions: 1, fault: []}
  expect:
  - lost: {count: 0, of: 10}
"""


def parsed(text: str) -> Claim:
    return CLAIM.parse(text, "mine.yaml")


def problem(was: str, now: str) -> str:
    assert was in TEXT
    with pytest.raises(BadInput) as raised:
        parsed(TEXT.replace(was, now, 1))
    return str(raised.value)


def line_of(text: str) -> int:
    return next(number for number, line in enumerate(TEXT.split("\n"), start=1) if text in line)


def test_each_arm_has_its_experiment_with_its_values() -> None:
    killed, alone = parsed(TEXT).arms
    assert (killed.arm, killed.experiment.name, alone.arm) == ("killed", "mine-killed", "left-alone")
    assert killed.experiment.title == "Broker 1 dies, $1 (killed)"
    assert killed.experiment.topic.assignment == ((1, 2, 3), (1, 2, 3))
    assert [len(arm.experiment.steps) for arm in (killed, alone)] == [4, 3]
    assert [(one.what, one.expected, one.given) for one in killed.expects] == [
        ("acked in before", "5", True),
        ("acked in after", "5", False),
        ("acked records lost", "0", False),
    ]
    assert alone.expects[0].what == "of 10 acked records lost"


def test_a_shared_cluster_and_an_experiment_of_another_claim_are_named() -> None:
    text = TEXT[: TEXT.index("experiments:")] + TEXT[TEXT.index("arms:\n- role") :]
    for arm in ("claim", "control"):
        text = text.replace(f"- role: {arm}\n", f"- role: {arm}\n  arm: acks=all\n")
    (cut,) = {
        arm.experiment.name: arm.experiment
        for one in CLAIMS
        if one.id == "R12"
        for arm in one.of(one.suite.roles[0])
    }.values()
    like = text + "experiments:\n  own: {like: r12.cut, name: own, cluster: four}\n"
    experiment = parsed(like).arms[0].experiment
    assert experiment.steps == cut.steps
    assert (experiment.name, experiment.cluster.brokers, cut.cluster.brokers) == ("own", 4, 3)
    for named, said in (
        ("r12.cat", "r12 has no experiment 'cat'"),
        ("r99.cut", "no built-in claim or bug has the file 'r99'"),
    ):
        with pytest.raises(BadInput, match=said):
            parsed(like.replace("r12.cut", named))
    with pytest.raises(BadInput, match="there is no cluster 'for'") as raised:
        parsed(like.replace("four", "for"))
    assert "did you mean 'four'?" in str(raised.value)


@pytest.mark.parametrize(
    ("was", "now", "line", "said"),
    [
        ("name: mine-$name", "name: mine-$nam", "name: mine-", "no value is called 'nam'"),
        ("times: $partitions", "times: $name", "name: killed", "an item cannot be repeated"),
        (
            "Broker $dead",
            "Broker $written",
            "title: Broker",
            "$written stands within a text",
        ),
        (
            "records: 5}\n    - $fault",
            "recods: 5}\n    - $fault",
            "name: before, records",
            "unknown key 'recods'",
        ),
        ("broker: $dead", "broker: $dad", "name: killed", "no value is called 'dad'"),
        ("dead: 1", "dead: $ded", "dead: 1", "no value is called 'ded'"),
        ("arms:\n- role: claim", "arms:\n- 3\n- role: claim", "- role: claim", "an arm is not a mapping"),
        ("- lost: 0", "- last: 0", "- lost: 0", "unknown key 'last'"),
        ("{count: 0, of: 10}", "{count: none}", "of: 10", "expected: a whole number"),
        ("{count: 0, of: 10}", "{cont: 0}", "of: 10", "did you mean 'count'?"),
        (
            "- lost: 0",
            "- {lost: 0, acked: 1}",
            "- lost: 0",
            "an expectation has one name, and this has lost, acked",
        ),
        ("  - lost: 0\n", "  arm: killd\n", "- role: claim", "`arm` is 'killd'"),
        ("mine-$name", "mine", None, "two experiments are called mine"),
        ("- role: control", "- role: claim", None, "and no others; these have claim\n"),
        ("- role: control", "- role: fixed", None, "and no others; these have claim, fixed"),
        ("broker: $dead", "broker: $HOST_OF_BROKER", "name: killed", "`$$` where a dollar sign is meant"),
        ("title: A", "title: A: b", "title: A", "a text that contains `: ` needs quotes"),
        ("id: MINE", "id: ../MINE", "id: MINE", "the claim is not valid"),
        ("title: A", "titel: A", "title: A", "did you mean 'title'?"),
        (
            "arms:\n- role: claim",
            "arms:\n- experiment: kil\n  role: claim",
            "- role: claim",
            "there is no experiment 'kil'",
        ),
    ],
)
def test_a_mistake_is_located(was: str, now: str, line: str | None, said: str) -> None:
    text = problem(was, now)
    assert said in text
    assert "mine.yaml" in text
    if line is not None:
        assert f", line {line_of(line)}" in text


def test_a_mistake_that_several_arms_share_is_told_once() -> None:
    text = problem("records: 5}\n    - $fault", "recods: 5}\n    - $fault")
    assert text.count("recods") == 2
    assert "arms[0].experiment.steps[0].write.recods" in text


def test_an_arm_of_which_only_preconditions_are_expected_shows_nothing() -> None:
    said = problem("  - lost: {count: 0, of: 10}", "  - given: {lost: 0}")
    assert "nothing is expected of the arm left-alone, or nothing but preconditions" in said


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("findings: {finding: lost}", "findings have a `count`, or `least` and maybe `most`"),
        ("findings: {finding: lost, most: 3}", "findings have a `count`"),
        ("findings: {finding: lost, count: 3, least: 1}", "findings have a `count`"),
        ("answered: {ask: a, question: files, broker: 1, error: X, number: 1}", "not both"),
    ],
)
def test_arguments_that_contradict_each_other_are_refused(written: str, said: str) -> None:
    assert said in problem("lost: {count: 0, of: 10}", written)


def test_a_small_file_does_not_become_a_huge_one() -> None:
    for was, now in (
        ("times: $partitions", "times: 999999999"),
        ("title: Broker $dead", f"title: {'$name' * 9000} $dead"),
    ):
        text = TEXT.replace(was, now).replace("name: killed", f"name: {'x' * 9000}")
        with pytest.raises(BadInput, match="too large"):
            parsed(text)


def test_expectations_keep_their_names() -> None:
    """Names in files are names of functions: renaming one breaks files of users."""
    assert {"acked", "lost", "valid", "invalid_for", "answered_requests", "drained", "given_times"} <= set(
        EXPECTATIONS
    )
    assert all(function.__doc__ for function in EXPECTATIONS.values())


@pytest.mark.parametrize("kind", [CLAIM, BUG], ids=["claims", "bugs"])
def test_files_are_as_their_schema_says(kind: FileKind[SuiteItem]) -> None:
    schema = Draft202012Validator(kind.json_schema())
    for name in kind.builtin_names():
        problems = [one.message[:200] for one in schema.iter_errors(yaml.safe_load(kind.builtin_text(name)))]
        assert problems == [], name
    wrong = yaml.safe_load(kind.builtin_text(kind.builtin_names()[0]))
    wrong["arms"][0]["expect"].append({"losst": 0})
    assert not schema.is_valid(wrong)


def test_every_file_of_a_catalog_is_a_listed_item() -> None:
    for kind in (CLAIM, BUG):
        for name in kind.builtin_names():
            item, _ = kind.builtin(name)
            assert item.id.lower() == name
