"""A JVM as part of an application: in its process group, so that what kills or pauses it acts on both."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway  # type: ignore[import-untyped]

_LOG = "-Dorg.slf4j.simpleLogger"
LOG_TO_STDERR = (
    f"{_LOG}.defaultLogLevel=warn",
    f"{_LOG}.showDateTime=true",
    f"{_LOG}.dateTimeFormat=HH:mm:ss.SSS",
    f"{_LOG}.showShortLogName=true",
)
"""Options by which slf4j-simple prints warnings and errors, with their times."""


def start_jvm(jars: Sequence[Path], options: Sequence[str] = ()) -> Any:
    """The gateway of a new JVM with these jars on its class path; it ends with this process."""
    (own,) = (Path(str(files("pyspark"))) / "jars").glob("py4j-*.jar")
    port, token = launch_gateway(
        jarpath=str(own),
        classpath=os.pathsep.join(map(str, (own, *jars))),
        javaopts=["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", *options],
        die_on_exit=True,
        enable_auth=True,
        # Without a group of its own: a signal to this process's group reaches the JVM.
        create_new_process_group=False,
    )
    return JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token))


def java_map(gateway: Any, settings: Mapping[str, str]) -> Any:
    """The settings as a java.util.Map."""
    made = gateway.jvm.java.util.HashMap()
    for name, value in settings.items():
        made.put(name, value)
    return made
