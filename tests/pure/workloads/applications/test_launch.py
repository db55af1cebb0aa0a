"""From the description of an application to what its instances are told, and what a container is given."""

from __future__ import annotations

import io
import tarfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.cluster.live import LiveCluster
from harness.cluster.managed import ManagedCluster
from harness.model.errors import BadInput
from harness.model.host.process_group import ProcessCommand
from workloads.applications.application_spec import (
    ApplicationSpec,
    ContainerApplication,
    DrainedWhen,
    ReadyWhen,
)
from workloads.applications.arm_application import output_config, output_times
from workloads.applications.container_instance import (
    ApplicationContainers,
    _archive,
    _below,
    require_container,
)
from workloads.applications.launch import (
    Prepared,
    Surroundings,
    command_of,
    identity_of,
    placeholders_of,
    prepare,
)
from workloads.applications.outputs.output_record import TableRow
from workloads.applications.source_input import open_source
from workloads.records.config.workload_spec import WorkloadSpec

pytestmark = pytest.mark.pure


def _spec(**fields: Any) -> ApplicationSpec:
    run = {"process": ["copy", "{bootstrap}", "{input}", "{output}", "{group}", "{state}/{instance}", "{x}"]}
    return ApplicationSpec.model_validate({"run": run, **fields})


def _around(folder: Path, output: str | None = "out") -> Surroundings:
    cluster = cast(LiveCluster, SimpleNamespace(bootstrap="127.0.0.1:9092", name="kc-1"))
    second = cast(LiveCluster, SimpleNamespace(bootstrap="127.0.0.1:9192", name="kc-2"))
    return Surroundings(cluster, second, "in", 2, output, 3, False, folder, 100)


def test_placeholders_are_filled_in_arguments_and_environment(tmp_path: Path) -> None:
    spec = _spec(env={"FROM": "{input}", "TO": "{output_bootstrap}", "JSON": '{"a": 1}'})
    placeholders = placeholders_of(spec, _around(tmp_path), "g", 1)
    command = command_of(Prepared(spec), placeholders)
    state = tmp_path / "application" / "state-1"
    assert command.arguments == ("copy", "127.0.0.1:9092", "in", "out", "g", f"{state}/1", "{x}")
    assert command.environment == {"FROM": "in", "TO": "127.0.0.1:9192", "JSON": '{"a": 1}'}
    assert state.is_dir()


def test_the_output_of_a_table_is_its_folder_below_the_state(tmp_path: Path) -> None:
    spec = _spec(output={"table": "lines", "path": "a/b"})
    placeholders = placeholders_of(spec, _around(tmp_path, None), "g", 0)
    assert placeholders["output"] == str(tmp_path / "application" / "state-0" / "a" / "b")


def _source(kind: dict[str, str], folder: Path) -> tuple[ApplicationSpec, Surroundings]:
    """An application with this input, which is opened in `folder`."""
    run = {"process": ["copy", "{input}", "{port}"]}
    spec = ApplicationSpec.model_validate({"run": run, "input": kind})
    around = _around(folder)
    source = open_source(spec, WorkloadSpec(), around.cluster, folder / "application", 1.0)
    return spec, replace(around, source=source)


def test_an_input_that_is_no_topic_is_a_file_or_a_url(tmp_path: Path) -> None:
    spec, around = _source({"file": "in.log"}, tmp_path)
    path = tmp_path / "application" / "input" / "in.log"
    command = command_of(Prepared(spec), placeholders_of(spec, around, "g", 0))
    assert command.arguments == ("copy", str(path), "{port}")
    assert path.read_bytes() == b""
    spec, around = _source({"http": "http://{host}:{port}/in"}, tmp_path)
    _, url, port = command_of(Prepared(spec), placeholders_of(spec, around, "g", 0)).arguments
    assert url == f"http://127.0.0.1:{int(port)}/in"
    assert open_source(_spec(), WorkloadSpec(), around.cluster, tmp_path, 1.0) is None


def test_the_file_of_a_container_is_mounted(tmp_path: Path) -> None:
    made: dict[str, Any] = {}

    def create(*_: Any, **options: Any) -> Any:
        made.update(options)
        return SimpleNamespace(put_archive=lambda *_: None)

    client = SimpleNamespace(api=SimpleNamespace(_version="1.40"), containers=SimpleNamespace(create=create))
    cluster = SimpleNamespace(name="kc", client=client, toolbox=None, spare_address=lambda _: "10.0.0.9")
    mounts = {str(tmp_path): {"bind": "/input", "mode": "ro"}}
    containers = ApplicationContainers(cast(ManagedCluster, cluster), 1, mounts)
    containers.make(containers.nodes[0].id, ContainerApplication(image="i"), ProcessCommand((), {}))
    assert made["volumes"] == mounts


def test_a_state_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "application").write_text("a file, where a folder should be")
    with pytest.raises(BadInput, match="the state folder of the application cannot be made") as refused:
        placeholders_of(_spec(), _around(tmp_path), "g", 0)
    assert "--results" in str(refused.value)


def test_conditions_that_hold_where_the_experiment_names_none() -> None:
    grouped = Prepared(_spec())
    assert grouped.reads_in_group
    assert grouped.ready == ReadyWhen(group="active")
    assert grouped.drained == DrainedWhen(lag=0, quiet=1.0)
    alone = Prepared(ApplicationSpec.model_validate({"run": {"process": ["copy"]}}))
    assert not alone.reads_in_group
    assert alone.ready == ReadyWhen(runs=1.0)
    assert alone.drained == DrainedWhen(quiet=5.0)
    named = Prepared(_spec(ready={"logged": "up"}, drained={"quiet": 3}))
    assert named.ready == ReadyWhen(logged="up")
    assert named.drained == DrainedWhen(quiet=3)


@pytest.mark.parametrize(
    ("run", "words"),
    [
        ({"builtin": "librdkafka-cpy"}, "did you mean 'librdkafka-copy'?"),
        ({"builtin": "librdkafka-copy", "options": {"no": 1}}, "does not take these options"),
    ],
)
def test_a_built_in_that_there_is_not(run: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput) as refused:
        prepare(ApplicationSpec.model_validate({"run": run}))
    assert words in str(refused.value)


def test_a_built_in_that_copies_within_one_cluster_takes_no_second_one() -> None:
    spec = {"run": {"builtin": "librdkafka-copy"}, "output": {"cluster": {}}}
    with pytest.raises(BadInput, match="'librdkafka-copy' cannot write to a second cluster") as refused:
        prepare(ApplicationSpec.model_validate(spec))
    assert "connect-mirror, mirrormaker" in str(refused.value)


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("librdkafka-copy", {"file": "a"}, "'librdkafka-copy' reads a topic"),
        ("connect-file-source", None, "'connect-file-source' reads a file"),
        ("connect-file-source", {"http": "http://h/"}, "'connect-file-source' reads a file"),
    ],
)
def test_a_built_in_reads_what_it_reads(name: str, given: dict[str, str] | None, words: str) -> None:
    spec = ApplicationSpec.model_validate({"run": {"builtin": name}, "input": given})
    with pytest.raises(BadInput, match=words):
        prepare(spec)


def test_a_file_for_a_container_that_is_not_there() -> None:
    spec = ContainerApplication(image="i", files={"/app/x": "no/such/file"})
    with pytest.raises(BadInput, match="a file for the application's container cannot be read"):
        require_container(spec)


def test_what_a_container_is_given_and_what_is_taken_from_it(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh")
    with tarfile.open(fileobj=io.BytesIO(_archive({"/app/program": str(program)}))) as archive:
        state, file = archive.getmembers()
        assert (state.name, state.isdir(), state.mode) == ("state", True, 0o777)
        assert (file.name, file.mode) == ("app/program", 0o755)
        content = archive.extractfile(file)
        assert content is not None
        assert content.read() == b"#!/bin/sh"
        # Of an archive of /state the folder's own name is not part of the path.
        assert [one.name for one in _below(archive)] == ["program"]


def test_a_container_reaches_brokers_inside_the_network() -> None:
    nodes = [
        SimpleNamespace(name="controller-101", broker=False),
        SimpleNamespace(name="broker-1", broker=True),
        SimpleNamespace(name="broker-2", broker=True),
    ]
    cluster: Any = SimpleNamespace(nodes=nodes)
    inside = ManagedCluster.inside_bootstrap.fget
    assert inside is not None
    assert inside(cluster) == "broker-1:9094,broker-2:9094"


@pytest.mark.parametrize(
    "identity",
    ["value", "key", {"header": "origin"}, {"json": "$.id"}, {"callable": "json:loads"}],
)
def test_every_identity_is_known(identity: Any) -> None:
    assert identity_of(_spec(identity=identity)) is not None


@pytest.mark.parametrize(("workload", "state"), [({"payload": {"json": {"n": "$seq"}}}, 0), ({}, 3)])
def test_values_of_the_workloads_payload_are_known_by_themselves(
    workload: dict[str, Any], state: int
) -> None:
    identity = identity_of(_spec(), WorkloadSpec.model_validate(workload))
    decoded = identity.map([TableRow("receipts", 0, 0, {"value": b'{"n": 7}'})], 4242).decoded
    assert (decoded.state[0], decoded.seq[0]) == (state, 0 if state else 7)


@pytest.mark.parametrize(
    "identity", [{"json": "$.a["}, {"callable": "nowhere_to_be_found:function"}, {"callable": "json:absent"}]
)
def test_what_cannot_be_used_is_refused_before_anything_starts(identity: Any) -> None:
    with pytest.raises(BadInput):
        prepare(_spec(identity=identity))


def test_a_table_has_no_headers() -> None:
    with pytest.raises(BadInput, match="table"):
        prepare(_spec(identity={"header": "origin"}, output={"table": "parquet"}))


def test_an_output_topic_keeps_what_the_input_does_not_and_has_the_brokers_timestamps() -> None:
    of_input = {"retention.ms": 1000, "retention.bytes": 5, "cleanup.policy": "compact", "segment.bytes": 9}
    assert output_config(of_input, {}) == {"segment.bytes": 9, "message.timestamp.type": "LogAppendTime"}
    own = {"message.timestamp.type": "CreateTime", "retention.ms": 7}
    assert output_config(of_input, own) == {"segment.bytes": 9} | own


def test_whose_times_outputs_have_follows_from_the_settings_of_their_topic() -> None:
    assert output_times("out", {}) == "broker"
    assert output_times("out", {"message.timestamp.type": "LogAppendTime"}) == "broker"
    assert output_times("out", {"message.timestamp.type": "CreateTime"}) == "application"
    assert output_times(None, {}) == "application"
