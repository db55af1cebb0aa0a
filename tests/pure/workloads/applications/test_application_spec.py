"""An application under test in an experiment: what is refused, and what an arm replaces."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from harness.model.errors import located_words_of
from harness.spec.cluster import ClusterSpec, Metadata, OutputCluster, output_cluster_spec
from harness.spec.experiment import Experiment
from workloads.applications.application_plan import describe_application
from workloads.applications.application_spec import ApplicationSpec, merged

pytestmark = pytest.mark.pure

PROCESS = {"run": {"process": ["copy", "{input}", "{group}"]}}
SOURCE = {"run": {"process": ["tail", "{input}"]}, "input": {"file": "in.log"}}


def _refusal(fields: dict[str, Any]) -> str:
    with pytest.raises(ValidationError) as refused:
        ApplicationSpec.model_validate(fields)
    return located_words_of(refused.value)


def _experiment(tested: Any, **arm: Any) -> Experiment:
    return Experiment.model_validate(
        {
            "name": "one",
            "title": "one",
            "application": tested,
            "steps": [{"write": {"name": "w", "records": 1}}],
            "arms": [{"name": "a", **arm}],
        }
    )


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"run": {}}, "expected one of process, container, builtin, got none"),
        ({"run": {"process": ["a"], "builtin": "b"}}, "got process and builtin"),
        ({"run": {"process": ["a"], "options": {"b": 1}}}, "`options` are those of a `builtin`"),
        ({"run": {"process": ["a", "{inptu}"]}}, "'{inptu}' holds {inptu}: did you mean {input}?"),
        ({"run": {"process": ["a", "{topic}"]}}, "'{topic}' holds {topic}: did you mean {input}?"),
        ({**PROCESS, "env": {"B": "{brokers}"}}, "'{brokers}' holds {brokers}: did you mean {bootstrap}?"),
        ({**PROCESS, "env": {"A": True}}, "env.A: a text is expected: put it in quotes"),
        ({**PROCESS, "env": {"A=B": "c"}}, "'A=B' cannot be the name of an environment variable"),
        ({"run": {"process": ["a", "\0"]}, "group": "g"}, "a character that no program can be given"),
        ({**PROCESS, "enf": {}}, "enf: there is no such key"),
        ({**PROCESS, "output": {"topic": {}, "table": "parquet"}}, "a `topic` or a `table`, not both"),
        ({**PROCESS, "output": {"table": "parquet", "path": "a/../../b"}}, "cannot contain `..`"),
        ({**PROCESS, "output": {"table": "lines"}, "order": "partition"}, "a table has no partitions"),
        (
            {"run": {"container": {"image": "i"}}, "group": "g", "output": {"cluster": {}}},
            "a container cannot reach the second cluster",
        ),
        ({**PROCESS, "output": {"cluster": {}}}, "give its brokers to the application as {output_bootstrap}"),
        (
            {**PROCESS, "output": {"cluster": {}, "topic": {"assignment": [[1, 2]]}}},
            "`topic.replication_factor` is 2, but the second cluster (`cluster`) has one broker",
        ),
        ({"run": {"process": ["a"]}, "drained": {"lag": 0}}, "`drained` asks for a group"),
        ({"run": {"process": ["a"]}, "ready": {"group": "active"}}, "`ready` asks for a group"),
        ({**PROCESS, "identity": {"callable": "no function"}}, "a module and a function in it, such as"),
        ({**PROCESS, "guarantee": "exactly"}, "Input should be 'at-least-once'"),
        ({**SOURCE, "input": {}}, "expected one of file and http"),
        ({**SOURCE, "input": {"file": "a", "http": "http://h/"}}, "expected one of file and http"),
        ({**SOURCE, "input": {"file": "a/b"}}, "the name of a file without a folder"),
        ({**SOURCE, "input": {"http": "https://h/"}}, "an address that begins with http://"),
        ({**SOURCE, "input": {"http": "http://h:{prot}/"}}, "'http://h:{prot}/' is no URL: Port could not"),
        ({**SOURCE, "input": {"http": "http:///a"}}, "'http:///a' names no host"),
        ({**SOURCE, "instances": 2}, "with `input` two instances would take the same input"),
        ({**SOURCE, "group": "g"}, "with `input` it is in no consumer group"),
        ({**SOURCE, "drained": {"lag": 0}}, "with `input` it is in no consumer group"),
        ({**SOURCE, "ready": {"group": "active"}}, "with `input` it is in no consumer group"),
        ({**SOURCE, "drained": {"checkpoint": True}}, "of `drained` only `quiet` is possible"),
        ({**SOURCE, "output": {"table": "lines"}}, "of `output` only `per_input` is possible"),
        ({**SOURCE, "output": {"topic": {"partitions": 2}}}, "of `output` only `per_input` is possible"),
    ],
)
def test_what_cannot_be_an_application(fields: dict[str, Any], words: str) -> None:
    assert words in _refusal(fields)


def test_texts_that_only_look_like_placeholders_are_left_alone() -> None:
    own = ['{"key": {"inner": 1}}', "{state}", "${topic}", "{word}"]
    spec = ApplicationSpec.model_validate({"run": {"process": ["a", *own]}})
    # Another tool's name is the application's own where ours is used too.
    assert ApplicationSpec.model_validate({"run": {"process": ["a", "{input}", "--path={topic}/x"]}})
    assert not spec.knows_group
    assert ApplicationSpec.model_validate(PROCESS).knows_group


def test_an_arm_replaces_fields_and_merges_names() -> None:
    base = ApplicationSpec.model_validate(
        {"run": {"builtin": "x", "options": {"a": 1, "b": 1}}, "env": {"A": "1"}, "drained": {"within": 9}}
    )
    arm = merged(
        base,
        {"run": {"options": {"b": 2}}, "env": {"B": "2"}, "drained": {"lag": 0}, "guarantee": "exactly-once"},
    )
    assert arm.run.builtin == "x"
    assert arm.run.options == {"a": 1, "b": 2}
    assert arm.env == {"A": "1", "B": "2"}
    assert (arm.drained.within, arm.drained.lag) == (9, 0) if arm.drained else False
    assert arm.guarantee == "exactly-once"
    other = merged(base, {"run": {"process": ["c"]}})
    assert (other.run.process, other.run.builtin) == (("c",), None)


def test_an_arm_may_have_an_application_of_its_own() -> None:
    experiment = _experiment(None, application=PROCESS)
    application = experiment.application_of(experiment.arms[0])
    assert application is not None
    assert experiment.application is None


@pytest.mark.parametrize(
    ("application", "arm", "words"),
    [
        (PROCESS, {"application": {"guarantee": "none"}}, "arm 'a': guarantee: Input should be"),
        (PROCESS, {"application": {"run": {"options": {"a": 1}}}}, "`options` are those of a `builtin`"),
        (PROCESS, {"application": {"run": {"options": "a"}}}, "arm 'a': run.options: Input should be"),
        ({**PROCESS, "group": "g"}, {"readers": [{"name": "r", "group": "g"}]}, "is in the group 'g' too"),
        (
            {**PROCESS, "output": {"topic": {"replication_factor": 9}}},
            {},
            "it is 9, but the cluster has 3 broker(s)",
        ),
    ],
)
def test_an_application_that_does_not_fit_the_experiment(
    application: Any, arm: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValidationError) as refused:
        _experiment(application, **arm)
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("arm", "words"),
    [
        ({"producer": {"acks": 1}}, "leave the arm's `producer` out"),
        ({"workload": {"producers": 2}}, "there is one writer"),
        ({"workload": {"transactions": {"records": 5}}}, "`client` and transactions have no meaning"),
        ({"workload": {"client": "java"}}, "`client` and transactions have no meaning"),
        ({"readers": [{"name": "r"}]}, "leave `readers` and `share` out"),
    ],
)
def test_what_a_source_cannot_have_beside_it(arm: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError) as refused:
        _experiment(SOURCE, **arm)
    assert words in str(refused.value)
    assert _experiment(PROCESS, **arm).arms


def test_a_source_has_one_output_topic_and_its_own_number_of_outputs() -> None:
    assert _experiment({**SOURCE, "output": {"per_input": 2}}).application is not None
    url = {"http": "http://{host}:{port}/in?x=1"}
    spec = _experiment({"run": {"process": ["serve", "{port}"]}, "input": url}).application
    assert spec is not None
    assert spec.input is not None
    assert spec.input.url("10.0.0.9", "8080").geturl() == "http://10.0.0.9:8080/in?x=1"


def test_the_plan_says_what_an_application_reads() -> None:
    told = describe_application(ApplicationSpec.model_validate(SOURCE))
    assert told == "process tail {input}, reads in.log, writes a topic, at-least-once"
    assert "reads" not in describe_application(ApplicationSpec.model_validate(PROCESS))


def test_a_second_cluster_is_small_and_of_the_same_version() -> None:
    second = OutputCluster(properties={"log.segment.bytes": 1_000_000})
    main = ClusterSpec(brokers=3, controllers=3, version="4.1.1", racks=True)
    made = output_cluster_spec(main, second)
    assert (made.brokers, made.controllers, made.combined, made.version) == (1, 1, True, "4.1.1")
    assert made.properties == second.properties
    old = ClusterSpec(metadata=Metadata.ZOOKEEPER, version="3.9.2")
    assert output_cluster_spec(old, second).metadata is Metadata.ZOOKEEPER


def test_a_second_cluster_needs_one_of_ours() -> None:
    tested = {"run": {"process": ["copy", "{output_bootstrap}"]}, "output": {"cluster": {}}}
    assert _experiment(tested).application is not None
    data = _experiment(tested).model_dump(mode="json", by_alias=True, exclude_unset=True)
    data["cluster"] = {"existing": {"bootstrap_servers": "h:1"}}
    with pytest.raises(ValidationError, match="a second cluster needs a first one that kafka-chaos starts"):
        Experiment.model_validate(data)
