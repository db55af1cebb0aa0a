"""Clusters side by side: each lane has one at a time and makes runs on it, one after the other."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from harness.campaign.backend import Backend
from harness.campaign.run_store import RunStore
from harness.model.errors import ClusterError
from harness.spec.cluster import ClusterSpec

CORES_A_CLUSTER = 4
"""Fewer, and clusters take each other's processors: what a fault does would depend on the neighbour."""
GIB_A_CLUSTER = 6
_ENDING_SECONDS = 120.0
_LOOK_SECONDS = 0.2


def room(cores: int | None = None, memory: int | None = None) -> int:
    """How many clusters this machine takes at a time; at least one. `memory` is bytes."""
    cores = os.cpu_count() or 1 if cores is None else cores
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if memory is None else memory
    return max(1, min(cores // CORES_A_CLUSTER, memory // (GIB_A_CLUSTER << 30)))


class ClusterSlot:
    """The cluster that runs are made on now, and how it is replaced. Used by one thread; `end` by any."""

    def __init__(self, rig: Backend, store: RunStore) -> None:
        self._rig = rig
        self._store = store
        self._stack = ExitStack()
        self._cluster: Any = None
        self._ended = threading.Event()
        self.up: str | None = None
        """What tells its cluster from others."""

    def cluster(self, spec: ClusterSpec, key: str) -> Any:
        """The cluster that is up if it has this key, else a new one."""
        if self.up != key:
            self.down()
            logs = self._store.folder / "logs" / f"{time.time_ns()}"
            self._cluster = self._stack.enter_context(self._rig.start(spec, logs))
            self.up = key
            if self.ended:
                self.down()
                raise ClusterError("the matrix is ending")
        return self._cluster

    @property
    def ended(self) -> bool:
        return self._ended.is_set()

    def down(self) -> None:
        """Remove the cluster, if there is one."""
        self.up = self._cluster = None
        self._stack.close()

    def end(self) -> None:
        """As `down`, and no other may be started; a run under way on it breaks."""
        self._ended.set()
        self.down()


def side_by_side(
    lanes: Sequence[ClusterSlot],
    names: Sequence[str],
    key: Callable[[str], str],
    one: Callable[[ClusterSlot, str], bool],
) -> bool:
    """Have `one(lane, name)` done for each name, each lane in a thread of its own where there are several.

    A lane takes the next name whose cluster it has up, else the next of all. Ends early once `one` returned
    False (and returns False), or raised: then what is under way in other lanes is ended, and it is raised.
    """
    if len(lanes) == 1:
        return all(one(lanes[0], name) for name in names)
    left, lock, stop = list(names), threading.Lock(), threading.Event()
    raised: list[BaseException] = []

    def take(lane: ClusterSlot) -> str | None:
        with lock:
            if stop.is_set() or not left:
                return None
            name = next((name for name in left if key(name) == lane.up), left[0])
            left.remove(name)
            return name

    def work(lane: ClusterSlot) -> None:
        try:
            while (name := take(lane)) is not None:
                if not one(lane, name):
                    stop.set()
        # Kept for the thread that waits.
        except BaseException as error:
            raised.append(error)
            stop.set()

    threads = [threading.Thread(target=work, args=(lane,), name="lane", daemon=True) for lane in lanes]
    for thread in threads:
        thread.start()
    try:
        while any(thread.is_alive() for thread in threads) and not raised:
            threads[0].join(_LOOK_SECONDS) if threads[0].is_alive() else time.sleep(_LOOK_SECONDS)
        if raised:
            raise raised[0]
    except BaseException:
        stop.set()
        for lane in lanes:
            lane.end()
        give_up = time.monotonic() + _ENDING_SECONDS
        for thread in threads:
            thread.join(max(0.0, give_up - time.monotonic()))
        raise
    return not stop.is_set()
