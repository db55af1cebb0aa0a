"""Experiment files: built-ins load, and every bad file gets one clear message."""

from __future__ import annotations

import json
import re
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from faults import Kill, Partition
from harness.lab.bugs.bug import BUG
from harness.lab.claims.claim import CLAIM
from harness.lab.explore.menu import MENU
from harness.many.matrix.spec import MATRIX
from harness.model.config.yaml_files import FileKind
from harness.model.errors import BadInput
from harness.spec.experiment import Experiment
from harness.spec.experiment_files import EXPERIMENT, load, parse
from harness.spec.overrides import ClusterOptions, overridden
from harness.spec.steps import Write
from tests.support.paths import ROOT

pytestmark = pytest.mark.pure

GOOD = """
name: mine
title: t
steps:
  - write: {name: w, seconds: 5, faults: [{fault: {kill: {target: {leader: 0}}}, at: 1, for: 2}]}
arms:
  - name: a
"""


def test_built_ins_load() -> None:
    assert EXPERIMENT.builtin_names() == (
        "application-dies",
        "connect-files",
        "cut-then-kill",
        "flink-dies",
        "kafka-streams",
        "kill-leader",
        "last-replica",
        "mirrormaker-failover",
        "mirrormaker-killed",
        "planned-move",
        "rolling-upgrade",
        "share-group-altered",
        "share-groups",
        "share-leader-restarts",
        "share-lock-end",
        "spark-read-committed",
        "stale-coordinator",
        "standard",
        "starved-leader",
        "storm",
        "transactions",
        "transactions-that-read",
        "unclean-election",
    )
    kill = load("kill-leader")
    assert [arm.name for arm in kill.arms] == ["acks=0", "acks=1", "acks=all", "acks=all-idempotent"]
    write = kill.steps[0].action
    assert isinstance(write, Write)
    assert isinstance(write.faults[0].fault, Kill)
    cut = load("cut-then-kill")
    assert isinstance(cut.steps[2].inject.fault if cut.steps[2].inject else None, Partition)
    assert cut.arms[0].promise == {"lost": "acked in alone"}


@pytest.mark.parametrize(
    "cluster",
    [
        "{version: 4.1.1, features: {share.version: 1}, "
        "properties: {group.share.min.record.lock.duration.ms: 500}}",
        "{version: 4.2.0, properties: {group.share.min.record.lock.duration.ms: 3000}}",
        "{existing: {bootstrap_servers: 'h:1'}}",
    ],
)
def test_clusters_with_share_groups(cluster: str) -> None:
    text = GOOD.replace("title: t", f"title: t\ncluster: {cluster}\nshare: [{{name: q, lock: 3}}]")
    assert parse(text, "mine").share[0].name == "q"


@pytest.mark.parametrize(
    ("written", "expected", "found"),
    [
        ("yes", 'a text: put it in quotes, "yes"', "yes, which YAML reads as true or false"),
        ("0x1F", 'a text: put it in quotes, "0x1F"', "0x1F, which YAML reads as a number"),
        ("2024-01-01", 'a text: put it in quotes, "2024-01-01"', "2024-01-01, which YAML reads as a date"),
        ("", 'a text: put it in quotes, ""', ", which YAML reads as nothing"),
    ],
)
def test_a_word_that_yaml_reads_as_something_else(written: str, expected: str, found: str) -> None:
    application = f"application: {{run: {{process: [a]}}, env: {{BUGGY: {written}}}}}"
    with pytest.raises(BadInput) as refused:
        parse(GOOD.replace("title: t", f"title: t\n{application}"), "mine.yaml")
    assert refused.value.where == "mine.yaml, line 4: application.env.BUGGY"
    assert refused.value.expected == expected
    assert refused.value.found == found
    with pytest.raises(BadInput) as masked:
        parse(GOOD.replace("title: t", f"title: t\n{application.replace('BUGGY', 'PASSWORD')}"), "mine.yaml")
    assert written not in str(masked.value) or written in ("", "yes")
    assert masked.value.expected == "a text"


@pytest.mark.parametrize(
    ("kind", "file", "says", "next_step"),
    [
        (EXPERIMENT, MATRIX.builtin_text("versions"), "this is a matrix, not an experiment", "matrix f.yaml"),
        (EXPERIMENT, CLAIM.builtin_text("r3"), "this is a claim, not an experiment", "claims f.yaml"),
        (EXPERIMENT, BUG.builtin_text("kip-903"), "this is a known bug, not an", "bugs f.yaml"),
        (EXPERIMENT, MENU.builtin_text("groups"), "this is a menu of explore, not an", "--menu f.yaml"),
        (MATRIX, EXPERIMENT.builtin_text("storm"), "this is an experiment, not a matrix", "plan f.yaml"),
        (CLAIM, EXPERIMENT.builtin_text("storm"), "this is an experiment, not a claim", "plan f.yaml"),
    ],
)
def test_a_file_of_another_kind_is_named(kind: FileKind[Any], file: str, says: str, next_step: str) -> None:
    with pytest.raises(BadInput) as refused:
        kind.parse(file, "f.yaml")
    assert says in refused.value.what
    assert f"kafka-chaos {next_step}" in str(refused.value.next_step).replace("explore --menu", "--menu")
    assert len(str(refused.value).splitlines()) == 3


def test_the_name_of_another_kind_is_told() -> None:
    for kind, name, says in (
        (EXPERIMENT, "acks-idempotence", "acks-idempotence is a matrix, not an experiment"),
        (EXPERIMENT, "R12", "R12 is a claim, not an experiment"),
        (MATRIX, "storm", "storm is an experiment, not a matrix"),
    ):
        with pytest.raises(BadInput, match=says):
            kind.load(name)


def test_the_example_file_loads() -> None:
    text = (resources.files("harness.spec") / "example.yaml").read_text()
    assert parse(text, "example").name == "my-experiment"


@pytest.mark.parametrize("name", EXPERIMENT.builtin_names())
def test_an_experiment_survives_json(name: str) -> None:
    experiment = parse(EXPERIMENT.builtin_text(name), name)
    again = Experiment.model_validate(json.loads(experiment.model_dump_json(by_alias=True)))
    assert again == experiment


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("title: t", "titel: t"), "did you mean 'title'"),
        (("seconds: 5", "secconds: 5"), "did you mean 'seconds'"),
        (("leader: 0", "leeder: 0"), "leeder"),
        (("{kill:", "{kil:"), "kill"),
        (("at: 1", "at: -1"), "greater than or equal to 0"),
        (("at: 1", "at: 7"), "a fault at 7 s never comes"),
        (("seconds: 5", "seconds: 5, records: 5"), "either `records` or `seconds`"),
        (("name: w", "name: W W"), "a name of small letters, digits and '-', at most 40 characters"),
        (("- name: a", "- name: a\n  - name: a"), "two arms are named 'a'"),
        (("- name: a", "- {name: a, promise: {lsot: 0}}"), "lost"),
        (("- name: a", "- {name: a, promise: {lost: acked in nowhere}}"), "nowhere"),
        (("- name: a", "- {name: a, producer: {acks: 2}}"), "acks"),
        (("- name: a", "- {name: a, producer: {acks: 1, enable.idempotence: true}}"), "idempotence"),
        (("title: t", "title: t\nshare: [{name: q}, {name: q}]"), "two share groups are named 'q'"),
        (
            ("title: t", "title: t\nshare: [{name: q}, {name: p, group: q}]"),
            "two entries of `share` have the group 'q'",
        ),
        (
            ("title: t", "title: t\nshare: [{name: q, lock: 3}]"),
            "properties: {group.share.min.record.lock.duration.ms: 3000}",
        ),
        (
            ("title: t", "title: t\ncluster: {version: 3.9.2}\nshare: [{name: q}]"),
            "4.2 is the first (KIP-932)",
        ),
        (
            ("title: t", "title: t\ncluster: {version: 3.9.2, metadata: zookeeper}\nshare: [{name: q}]"),
            "Kafka 3.9.2 with ZooKeeper has no share groups",
        ),
        (
            ("title: t", "title: t\ncluster: {version: 4.0.0}\nshare: [{name: q}]"),
            "4.2 is the first (KIP-932)",
        ),
        (
            ("title: t", "title: t\ncluster: {version: 4.1.1}\nshare: [{name: q}]"),
            "set `features: {share.version: 1}` below `cluster`",
        ),
        (
            ("title: t", "title: t\ncluster: {version: 4.2.0}\nshare: [{name: q, delivery_limit: 3}]"),
            "set `properties: {group.share.delivery.count.limit: 3}` below `cluster`",
        ),
        (
            (
                "steps:",
                "cluster: {version: 4.2.0}\nshare: [{name: q}]\n"
                "steps:\n  - alter_share_group: {group: q, delivery_limit: 3}",
            ),
            "steps[0].alter_share_group.delivery_limit",
        ),
        (("- name: a", "- {name: a, share: [{name: q, lock: 3}]}"), "a lock of 3 s is below the 15 s"),
        (("steps:", "steps:\n  - alter_share_group: {group: q, lock: 1}"), "arm 'a' has no share group 'q'"),
        (("steps:", "steps:\n  - alter_share_group: {group: q}"), "say what changes: `start`, `lock`"),
        (("title: t", "title: t\ntopic: {replication_factor: 5}"), "the cluster has 3 broker"),
        (("title: t", "title: t\ncluster: {brokers: many}"), "cluster.brokers"),
        (("- write:", "- wirte:"), "did you mean 'write'"),
        (("steps:\n", "steps: [{heal: {}}]\nstepz:\n"), "stepz"),
        (("title: t", "title: t\nreaders: [{name: a}, {name: a}]"), "readers[1].name"),
        (("title: t", "title: t\nreaders: [{name: a, group: g, members: 2}, {name: a-1}]"), "'a-1'"),
        (("title: t", "title: t\nreaders: [{name: a, rack: r1}]"), "readers[0].rack"),
        (("title: t", "title: t\nreaders: [{name: a, rack: r1}]"), "the cluster has no racks"),
        (
            ("title: t", "title: t\ncluster: {racks: true}\nreaders: [{name: a, rack: r4}]"),
            "the racks are r1, r2, r3",
        ),
        (("- name: a", "- {name: a, readers: [{name: b, rack: r1}]}"), "arms[0].readers[0].rack"),
        (
            (
                "title: t",
                "title: t\ncluster: {version: 3.9.2}\nreaders: [{name: a, group: g, protocol: consumer}]",
            ),
            "Kafka 3.9.2 has no consumer group protocol, 4.0 was the first (KIP-848)",
        ),
        (
            (
                "title: t",
                "title: t\ncluster: {version: 3.9.2, metadata: zookeeper}\n"
                "readers: [{name: a, group: g, protocol: consumer}]",
            ),
            "Kafka 3.9.2 with ZooKeeper has no consumer group protocol",
        ),
        (("title: t", "title: t\nreaders: [{name: a, comits: auto}]"), "did you mean 'commits'"),
        (("title: t", "title: t\nreaders: [{name: a, members: 3}]"), "there is no group"),
        (("- name: a", "- {name: a, producer: {acks: 1}, workload: {transactions: {}}}"), "needs acks=all"),
        (
            (
                "- name: a",
                "- {name: a, producer: {delivery.timeout.ms: 90000}, workload: {transactions: {}}}",
            ),
            "must not exceed transaction.timeout.ms",
        ),
        (("title: t", "title: t\nworkload: {transactions: {records: 0}}"), "greater than or equal to 1"),
    ],
)
def test_bad_files_are_refused_with_the_place(change: tuple[str, str], says: str) -> None:
    text = GOOD.replace(*change)
    assert text != GOOD
    with pytest.raises(BadInput) as caught:
        parse(text, "my.yaml")
    assert "my.yaml" in str(caught.value)
    assert says in str(caught.value)
    assert caught.value.exit_code == 2


CONTRADICTION = "enable.idempotence needs acks=all, but acks is 1: set acks to all, or switch idempotence off"
THREE_MISTAKES = """
name: mine
title: t
cluster: {brokerz: 3}
steps:
  - write: {name: w, seconds: 14s}
arms:
  - name: a
    producer: {acks: 1, enable.idempotence: true}
"""


def message_about(text: str) -> str:
    with pytest.raises(BadInput) as caught:
        parse(text, "my.yaml")
    return str(caught.value)


def test_all_problems_are_shown_each_with_its_place() -> None:
    assert message_about(THREE_MISTAKES).splitlines() == [
        "unknown key 'brokerz' (1 of 3 problems)",
        "  where:    my.yaml, line 4: cluster.brokerz",
        "  expected: did you mean 'brokers'?",
        "the experiment is not valid",
        "  where:    my.yaml, line 6: steps[0].write.seconds",
        "  expected: a number without a unit, such as 14",
        "  found:    '14s'",
        "the experiment is not valid",
        "  where:    my.yaml, line 9: arms[0].producer",
        f"  found:    {CONTRADICTION}",
        "  next:     `kafka-chaos schema` prints every key with its meaning",
    ]


def test_inconsistent_values_are_all_shown() -> None:
    text = GOOD.replace("at: 1", "at: 7").replace(
        "- name: a", "- {name: a, promise: {lsot: 0, lost: few}}\n  - {name: b, promise: {lost: acked in v}}"
    )
    printed = message_about(text)
    assert "(1 of 4 problems)" in printed
    for place in ("arms[0].promise.lsot", "arms[0].promise.lost", "arms[1].promise.lost", "steps[0].write"):
        assert place in printed


def test_a_bad_promise_has_each_label_once() -> None:
    printed = message_about(GOOD.replace("- name: a", "- {name: a, promise: {lost: few}}"))
    assert printed.splitlines() == [
        "arm 'a': a promise cannot be read",
        "  where:    my.yaml, line 7: arms[0].promise.lost",
        '  expected: "0", "12", ">= 1", "<= 5", "any" or "acked in STEP"',
        "  found:    'few'",
        "  next:     `kafka-chaos schema` prints every key with its meaning",
    ]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("seconds: 5", "seconds: many"), "expected: a number\n"),
        (("name: w", "name: [w]"), "expected: a text\n"),
        (("title: t", "title: t\ntogether: perhaps"), "expected: true or false\n"),
        (("title: t", "title: t\ntopic: {partitions: 2.5}"), "expected: a whole number\n"),
        (("title: t", "title: t\ntopic: 3"), "expected: a mapping\n"),
        (("title: t", "title: t\nreaders: 3"), "expected: a list\n"),
        (("title: t", "title: t\ntopic: {partitions: 0}"), "expected: greater than or equal to 1\n"),
        (("title: t\n", ""), "the key 'title' is missing\n"),
        (("- name: a", "- {name: a, acks: 1}"), "one of name, producer, workload, readers, "),
        (("- name: a", "- {name: a, expect: {}}"), "one of name, producer"),
    ],
)
def test_what_is_expected_is_told_in_words_of_the_file(change: tuple[str, str], says: str) -> None:
    printed = message_about(GOOD.replace(*change))
    assert says in printed
    assert "problems" not in printed


def test_of_many_problems_ten_are_shown() -> None:
    arms = "".join(f"\n  - {{name: a{number}, acks: 1}}" for number in range(30))
    printed = message_about(GOOD + arms)
    assert "(1 of 30 problems, of which 10 are shown)" in printed
    assert printed.count("unknown key 'acks'") == 10


def test_broken_yaml_names_the_line() -> None:
    with pytest.raises(BadInput, match=r"my\.yaml, line 2"):
        parse("name: x\n  bad: [", "my.yaml")
    with pytest.raises(BadInput, match="a mapping"):
        parse("- 1", "my.yaml")
    with pytest.raises(BadInput, match="this YAML cannot be used"):
        parse("a: \x00", "my.yaml")


def test_unknown_names_and_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="did you mean 'kill-leader'"):
        load("kill-leadr")
    with pytest.raises(BadInput, match="cannot be read"):
        load(str(tmp_path / "none.yaml"))
    garbage = tmp_path / "garbage.yaml"
    garbage.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadInput, match="cannot be read"):
        load(str(garbage))


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    schema = EXPERIMENT.json_schema()
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


@pytest.mark.parametrize("name", [*EXPERIMENT.builtin_names(), "example"])
def test_the_schema_accepts_what_the_reader_does(name: str, validator: Draft202012Validator) -> None:
    example = resources.files("harness.spec") / "example.yaml"
    text = example.read_text() if name == "example" else EXPERIMENT.builtin_text(name)
    assert [error.message for error in validator.iter_errors(yaml.safe_load(text))] == []
    broken = yaml.safe_load(text.replace("- write:", "- wrote:").replace("kill:", "kil:"))
    assert not validator.is_valid(broken)


def test_the_schema_knows_every_step() -> None:
    known = {"write", "drive", "rival", "wait", "inject", "heal", "ask", "restart_reader", "sleep"}
    known |= {"alter_share_group", "ask_offsets", "commit_offsets", "delete_records", "recreate_topic"}
    known |= {"init_producer_id"}
    assert set(EXPERIMENT.json_schema()["$defs"]["Step"]["properties"]) == known


@pytest.mark.parametrize(
    ("version", "says"),
    [("4.2.0", "4.3 is the first (KIP-1240)"), ("3.9.2", "4.2 is the first (KIP-932)")],
)
def test_a_version_without_what_share_groups_need_is_refused(version: str, says: str) -> None:
    assert overridden(load("share-groups"), ClusterOptions("4.4.0")).cluster.version == "4.4.0"
    with pytest.raises(BadInput, match=re.escape(says)):
        overridden(load("share-groups"), ClusterOptions(version))


def test_the_command_line_goes_over_the_file() -> None:
    experiment = overridden(load("kill-leader"), ClusterOptions("9.9.9", "my/image", "kafka"))
    assert experiment.cluster.version == "9.9.9"
    assert experiment.cluster.image == "my/image"
    assert experiment.cluster.profile == "kafka"
    with pytest.raises(BadInput, match="kafka, fast"):
        overridden(experiment, ClusterOptions(profile="slow"))


@pytest.mark.parametrize(
    ("cluster", "says"),
    [
        ("{existing: {bootstrap_servers: 'h:1'}}", "a container needs the network of a cluster that"),
        ("{security: {tls: true}}", "a container has no certificates of a cluster with"),
    ],
)
def test_a_program_in_a_container_needs_a_cluster_of_ours_without_security(cluster: str, says: str) -> None:
    own = GOOD + "workload: {client: own, own: {command: [a], image: i}}\n"
    assert parse(own, "x.yaml").workload.own is not None
    with pytest.raises(BadInput, match=says):
        parse(own + f"cluster: {cluster}\n", "x.yaml")


def test_an_arm_may_have_its_own_workload_and_readers() -> None:
    made = load("transactions")
    transactional, plain = made.arms
    assert made.workload_of(transactional).transactions is not None
    assert made.workload_of(plain).transactions is None
    assert [reader.name for reader in made.readers_of(plain)] == ["everything", "committed", "workers"]
    silent = transactional.model_copy(update={"readers": ()})
    assert made.readers_of(silent) == ()


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("seconds: 5,", "records: 5,", "`client: own` has no `records`"),
        ("seconds: 5,", "seconds: 5, rate: 7,", "`client: own` has no `rate`"),
        ("seconds: 5,", "seconds: 5, until_faults_end: 7,", "`client: own` has no `until_faults_end`"),
    ],
)
def test_programs_of_the_users_decide_how_much_they_write(old: str, new: str, why: str) -> None:
    own = GOOD + "workload: {client: own}\n"
    assert parse(own, "x.yaml").workload.client == "own"
    with pytest.raises(BadInput, match=why):
        parse(own.replace(old, new), "x.yaml")


EXAMPLES = sorted((ROOT / "examples" / "foreign-broker").glob("*.yaml"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_what_is_there_for_other_brokers_needs_one_broker(path: Path) -> None:
    made = load(str(path))
    assert (made.cluster.brokers, made.topic.replication_factor) == (1, 1)
