"""Runs a comparison of consumers: situation after situation, as often as asked for."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.lab.clients.runner import carried_out
from harness.lab.consumers.consumer_comparison import ConsumerArm, consumer_experiments
from harness.lab.consumers.consumer_result import CONSUMERS_FILE, ConsumersResult
from harness.lab.consumers.consumer_run import consumer_run
from harness.lab.consumers.situation import ConsumerSituation
from harness.many.run_store import RunStore
from harness.run.executor import Options


def new_consumers(
    situations: Mapping[str, ConsumerSituation],
    arms: Sequence[ConsumerArm],
    left_out: Mapping[str, str],
    options: Options,
) -> tuple[Path, ConsumersResult]:
    """A new folder below the results, with a comparison that has no run yet.

    Raises:
        BadInput: it cannot be written.
    """
    titles = {name: situation.title for name, situation in situations.items()}
    result = ConsumersResult.begun(titles, arms, left_out, options)
    store = RunStore[Any].created(options.results, "consumers")
    store.write(CONSUMERS_FILE, result)
    return store.folder, result


def compare_consumers(
    situations: Mapping[str, ConsumerSituation],
    arms: Sequence[ConsumerArm],
    options: Options,
    version: str,
    at_once: int,
    begun: ConsumersResult,
    folder: Path,
) -> ConsumersResult:
    """Run each situation `options.repeat` times on Kafka of this `version`, with at most `at_once` programs
    beside each other; returns what is also written as `consumers.json` into the folder, after each part anew.

    Raises:
        KafkaChaosError: as `execute`; parts that are over are kept.
        KeyboardInterrupt: passed on; the same holds.
    """
    began, result, store = time.monotonic(), begun, RunStore[Any](folder)
    parts = [
        (name, experiment)
        for name, situation in situations.items()
        for experiment in consumer_experiments(name, situation, arms, version, at_once)
    ]
    by_name = {arm.name: arm for arm in arms}
    command = "kafka-chaos clients --consumers"
    with closing(carried_out(parts, replace(options, results=folder), command)) as done_parts:
        for name, own, done in done_parts:
            committed = situations[name].read_committed
            runs = [
                consumer_run(name, one, own, folder, by_name[one.meta.arm].commits, committed)
                for one in done.arms
            ]
            seconds = round(time.monotonic() - began, 1)
            result = result.model_copy(update={"runs": (*result.runs, *runs), "seconds": seconds})
            store.write(CONSUMERS_FILE, result)
    return result
