"""An existing cluster, as data: addresses, client configuration, and which containers it consists of."""

from __future__ import annotations

import re

from pydantic import Field, field_validator

from harness.model.frozen import Frozen

_SERVER = re.compile(r"^\[?[A-Za-z0-9._:-]+\]?:\d{1,5}$")


class ExternalClusterSpec(Frozen):
    """A cluster that kafka-chaos did not start: the topic of a run is created there and deleted at the end,
    and nothing else is changed. `client_config` is a client's properties file with its security settings, by
    Java's or librdkafka's names. `containers` is a label (`name` or `name=value`) of the brokers' containers
    on this machine, for faults on them; they are never removed.
    """

    bootstrap_servers: str = Field(description="host:port of some brokers, separated by commas")
    client_config: str | None = Field(
        default=None, description="a properties file; its secrets are not copied"
    )
    containers: str | None = Field(default=None, description="label of the brokers' containers")

    @field_validator("bootstrap_servers")
    @classmethod
    def _addresses(cls, value: str) -> str:
        for server in value.split(","):
            port = server.strip().rpartition(":")[2]
            if not _SERVER.match(server.strip()) or not 0 < int(port) < 65536:
                raise ValueError(f"{server.strip()!r} is not host:port")
        return value

    @property
    def servers(self) -> tuple[tuple[str, int], ...]:
        """Host and port of each server."""
        parts = [server.strip().rpartition(":") for server in self.bootstrap_servers.split(",")]
        return tuple((host.strip("[]"), int(port)) for host, _, port in parts)
