"""The rule of `harness.model.broker_views.newness` on columns of samples, of which there may be millions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Column = npt.NDArray[np.generic]


def newest_rows(at_ns: Column, partition: Column, leader_epoch: Column, own: Column) -> npt.NDArray[np.intp]:
    """The rows of the newest belief about each partition at each moment, by partition and time. `own`: it is
    the leader's."""
    order = np.lexsort((own, leader_epoch, at_ns, partition))
    at_ns, partition = at_ns[order], partition[order]
    newest = np.ones(len(order), dtype=np.bool_)
    newest[:-1] = (at_ns[:-1] != at_ns[1:]) | (partition[:-1] != partition[1:])
    return order[newest]
