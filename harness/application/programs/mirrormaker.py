"""Mirrors a topic with MirrorMaker 2 in its dedicated mode, to another cluster or to the same one.

The records go to the output topic, each to the partition that it has in the input.
"""

from __future__ import annotations

import argparse

from harness.application.kafka_jars import connect_jars
from harness.application.programs.arguments import assignments, java_parser
from harness.application.programs.clusters import Clusters
from harness.application.programs.connect_settings import EXACTLY_ONCE, aliases, mirrormaker_settings
from harness.application.programs.connector_states import FAILED, RUNNING, task_states
from harness.application.programs.java_settings import LOG_TO_STDERR, java_map
from harness.application.programs.jvm_process import exit_with, start_jvm
from harness.application.programs.lifecycle import jars, ready, say, stop_event

_POLL_SECONDS = 0.3
_CONNECTOR = "MirrorSourceConnector"


def parser() -> argparse.ArgumentParser:
    made = java_parser(__doc__, "mirrormaker")
    made.add_argument("--guarantee", choices=("at-least-once", EXACTLY_ONCE), default="at-least-once")
    made.add_argument("--commit-interval-ms", type=int, default=1000)
    return made


def main() -> int:
    options = parser().parse_args()
    stopping = stop_event()
    settings = mirrormaker_settings(
        clusters=Clusters.of(options.bootstrap, options.output_bootstrap),
        topic=options.input,
        output=options.output,
        exactly_once=options.guarantee == EXACTLY_ONCE,
        commit_ms=options.commit_interval_ms,
    )
    gateway = start_jvm(jars() or connect_jars(options.version), ("-Xmx384m", *LOG_TO_STDERR))
    mirror = gateway.jvm.org.apache.kafka.connect.mirror
    maker = mirror.MirrorMaker(java_map(gateway, {**settings, **assignments(options.setting)}))
    maker.start()
    flow = mirror.SourceAndTarget(*aliases(options.input))
    told = failed = False
    while not failed and not stopping.wait(_POLL_SECONDS):
        states = task_states(maker, flow, _CONNECTOR)
        failed = FAILED in states
        if not told and states and set(states) == {RUNNING}:
            told = True
            ready()
    if failed:
        say("the connector or its task has failed")
        return 3
    maker.stop()
    gateway.shutdown()
    return 0


if __name__ == "__main__":
    exit_with(main)
