"""The matrix of a comparison of files: its axes are the files and the faults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.lab.clients.fault import ClientFault
from harness.lab.configs.compared_config import ComparedConfig
from harness.many.matrix.spec import MatrixSpec
from harness.spec.step import Step

NAME = "compare-configs"
FILE, FAULT = "file", "fault"
"""The axes."""
USUAL_FAULTS = ("kill", "pause", "cut-then-kill", "planned-move")
"""Of those that clients are compared under."""
USUAL_REPEAT, USUAL_RATE = 5, 1000
_OF_ONE_CLIENT = "{client}"


def matrix_of(
    configs: Sequence[ComparedConfig], faults: Mapping[str, ClientFault], rate: int = USUAL_RATE
) -> MatrixSpec:
    """Every file under every fault, `rate` records per second, on a topic of one partition whose leader the
    faults hit. Kafka's timings are those that it is shipped with, for which the faults were made."""
    return MatrixSpec.model_validate(
        {
            "name": NAME,
            "title": f"{', '.join(config.label for config in configs[:-1])} against {configs[-1].label}",
            "description": " ".join(f"{name}: {fault.title}." for name, fault in faults.items()),
            "base": {
                "cluster": {"profile": "kafka"},
                "topic": {"assignment": [[1, 2, 3]], "config": {"min.insync.replicas": "2"}},
                "workload": {"rate": rate},
            },
            "axes": {
                FILE: {"levels": {config.label: _level(config) for config in configs}},
                FAULT: {
                    "levels": {
                        name: {
                            "cluster": fault.cluster,
                            "steps": [_for_any_client(one) for one in fault.steps],
                        }
                        for name, fault in faults.items()
                    }
                },
            },
            "repeats": USUAL_REPEAT,
        }
    )


def _level(config: ComparedConfig) -> dict[str, Any]:
    producer = config.producer
    settings = producer.settings.model_dump(mode="json", by_alias=True, exclude_none=True)
    workload: dict[str, Any] = {"transactions": {}} if producer.transactional else {}
    return {"producer": settings, "promise": producer.promise, "workload": workload}


def _for_any_client(step: Step) -> Any:
    """The step as data, without the client whose requests it is about: each run has one producer."""
    return _without(step.model_dump(mode="json", by_alias=True, exclude_unset=True))


def _without(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without(one) for key, one in value.items() if one != _OF_ONE_CLIENT}
    return [_without(one) for one in value] if isinstance(value, list) else value
