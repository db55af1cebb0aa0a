"""A client whose tools are missing here is installed and run in a container."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from harness.cluster.containers import docker_engine, images
from harness.lab.clients.client import CLIENT
from harness.lab.clients.comparison import Load
from harness.lab.clients.in_container import contained
from harness.lab.clients.installing import install, named_client
from harness.lab.clients.participants import chosen_faults, participants
from harness.lab.clients.runner import compare_clients, new_comparison
from harness.model.defaults import DEFAULT_VERSION
from harness.model.errors import PrerequisiteMissing
from harness.model.result import VerdictWord
from harness.run.executor import Options

pytestmark = [pytest.mark.chaos, pytest.mark.soak]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Java client, compiled here, as one that needs a tool which only an image is said to have."""
    compiled = install(named_client("java"))
    folder = tmp_path_factory.mktemp("mine")
    for name in ("classes", "jars"):
        shutil.copytree(compiled.folder / name, folder / "mine" / name)
    client = docker_engine.connect()
    image = images.resolve(client, DEFAULT_VERSION).reference
    client.close()
    spec = CLIENT.builtin("java")[0].model_dump(mode="json", exclude_unset=True)
    changed = {"needs": ["no-such-tool"], "image": image, "install": [["sh", "-c", "id -u > installed"]]}
    (folder / "mine.yaml").write_text(yaml.safe_dump(spec | changed))
    return folder / "mine.yaml"


def test_a_client_without_its_tools_sends_from_a_container(file: Path, results: Path) -> None:
    arms, left_out = participants([str(file)], ["default"], None, "own")
    assert left_out == {}
    assert arms[0].command[1:3] == contained((), "", "")[1:3]
    faults, options = chosen_faults(["none"]), Options(results=results, seed=4)
    folder, begun = new_comparison(faults, arms, {}, options)
    result = compare_clients(faults, arms, Load(DEFAULT_VERSION), options, begun, folder)
    (run,) = result.runs
    assert run.verdict is VerdictWord.VALID, run
    assert run.acked == run.sent > 300
    assert (run.acks, run.idempotent) == ("all", True)
    client = docker_engine.connect()
    left = client.containers.list(all=True, filters={"volume": str(Path(arms[0].command[4]))})
    client.close()
    assert left == []


def test_an_image_that_cannot_be_had_leaves_the_client_out(file: Path) -> None:
    spec = yaml.safe_load(file.read_text()) | {"image": "kafka-chaos/no-such-image:1"}
    other = file.with_name("other.yaml")
    other.write_text(yaml.safe_dump(spec))
    with pytest.raises(PrerequisiteMissing) as refused:
        install(named_client(str(other)))
    assert "the image kafka-chaos/no-such-image:1 cannot be had: " in str(refused.value.found)
