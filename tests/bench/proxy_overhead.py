"""Measures what the proxy costs: throughput, and the time that it adds to a request.

    python -m tests.bench.proxy_overhead [repeats]

A client sends Produce requests to a server that answers at once: directly, through the proxy, and through
the proxy with a rule that reads every body and fits none. Client, proxy and server are a process each.
"""

from __future__ import annotations

import multiprocessing
import os
import socket
import statistics
import struct
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer
from rich.console import Console

from harness.cluster.proxy.listeners import ListenerSpec
from harness.cluster.proxy.process import LocalProxy
from harness.cluster.proxy.server import ProxySpec
from harness.model.host.ports import HOST, free_ports
from harness.model.request_rules import RequestRule
from tests.bench.rows import Row, table
from tests.support.kafka_frames import produce

_BYTES = 400_000_000
_RECORDS = 100_000
"""Bytes of records in a request of the throughput: some batches of several partitions."""
_IN_FLIGHT = 5
_ASKED = 2000
_SERVERS = multiprocessing.get_context("spawn")
_ANSWER = bytes(30)

BODY = RequestRule(id="body", action="hold", api=("Produce",), topic="another", direction="request")


def _serve(port: int) -> None:
    """Answer every frame of every connection, one connection at a time."""
    listening = socket.create_server((HOST, port))
    buffer = bytearray(1 << 20)
    while True:
        opened, _ = listening.accept()
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with opened:
            while _receive(opened, buffer, 12):
                length, _, _, correlation = struct.unpack_from(">ihhi", buffer)
                _receive(opened, buffer, length - 8)
                opened.sendall(struct.pack(">ii", len(_ANSWER) + 4, correlation) + _ANSWER)


def _receive(opened: socket.socket, buffer: bytearray, count: int) -> bool:
    view, at = memoryview(buffer), 0
    while at < count:
        got = opened.recv_into(view[at:], count - at)
        if not got:
            return False
        at += got
    return True


@contextmanager
def _client(port: int) -> Iterator[socket.socket]:
    with socket.create_connection((HOST, port), timeout=60) as opened:
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield opened


def _frame(records: int) -> bytes:
    return produce(8, partitions=(0,), records=bytes(records))


def throughput(port: int) -> float:
    """MB/s of requests, with five in flight."""
    frame, buffer = _frame(_RECORDS), bytearray(1 << 16)
    count = _BYTES // len(frame)
    with _client(port) as opened:
        began = time.perf_counter()
        for number in range(count + _IN_FLIGHT):
            if number < count:
                opened.sendall(frame)
            if number >= _IN_FLIGHT:
                _receive(opened, buffer, len(_ANSWER) + 8)
        return count * len(frame) / (time.perf_counter() - began) / 1e6


def latency(port: int) -> float:
    """Milliseconds from a small request to its answer, at the median."""
    frame, buffer = _frame(100), bytearray(1 << 16)
    taken = []
    with _client(port) as opened:
        for _ in range(_ASKED):
            began = time.perf_counter()
            opened.sendall(frame)
            _receive(opened, buffer, len(_ANSWER) + 8)
            taken.append(time.perf_counter() - began)
    return statistics.median(taken) * 1e3


def cpu_seconds(pid: int) -> float:
    """Processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def rows(repeats: int = 5) -> list[Row]:
    """Throughput, also by the proxy's processor time, which what else runs hardly changes, and added time:
    without and with a rule that reads bodies."""
    behind, front, control = free_ports(3)
    server = _SERVERS.Process(target=_serve, args=(behind,), daemon=True)
    server.start()
    spec = ProxySpec((ListenerSpec("bench", HOST, front, (HOST, behind), 1),), f"{HOST}:{control}")
    found: dict[str, list[tuple[float, ...]]] = {"no rule": [], "a rule on bodies": []}
    try:
        _await(behind)
        with LocalProxy(spec) as proxy:
            for _ in range(repeats):
                for what, measured in found.items():
                    if what != "no rule":
                        proxy.client.add(BODY)
                    used = cpu_seconds(proxy.pid)
                    through = throughput(front)
                    used = cpu_seconds(proxy.pid) - used
                    added = latency(front)
                    if what != "no rule":
                        proxy.client.remove(BODY.id)
                    measured.append(
                        (throughput(behind), through, _BYTES / 1e6 / used, latency(behind), added)
                    )
    finally:
        server.kill()
    made = []
    for what, measured in found.items():
        direct, through, by_cpu, alone, added = zip(*measured, strict=True)
        fast = {"goal": 100, "more_is_better": True}
        peer = {"peer": "direct", "theirs": statistics.median(direct)}
        made.append(Row.of(f"proxy, {what}: throughput", "MB/s", through, **fast, **peer))
        made.append(Row.of(f"proxy, {what}: throughput by its processor time", "MB/s", by_cpu, **fast))
        more = [one - other for one, other in zip(added, alone, strict=True)]
        peer = {"peer": "direct, whole", "theirs": statistics.median(alone)}
        made.append(Row.of(f"proxy, {what}: added to a request", "ms", more, goal=1.0, **peer))
    return made


def _await(port: int) -> None:
    for _ in range(100):
        try:
            socket.create_connection((HOST, port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.1)
    sys.exit("the server of the benchmark did not start")


def main(repeats: int = 5) -> None:
    Console(width=180).print(table(rows(repeats)))


if __name__ == "__main__":
    typer.run(main)
