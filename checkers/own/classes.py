"""Classes of findings about the ids that a user's records have of their own.

What an id is, and how often each is meant to be in the log, the workload says (`own: {id: ...}`). Their facts
are rows of `checkers.own.find`, one per id.
"""

from __future__ import annotations

from functools import partial

from pyspark.sql import Column

from checkers.classes.base import Facts, finding_class, rules_in
from checkers.evidence.sentences import say

_id_class = partial(finding_class, subject="id")
_IN_THE_LOG = "; in the log at {places}"


@_id_class("{id} is in the log at {places}, and no send of this run has it")
def phantom_id(r: Facts) -> Column:
    """An id is in the log, and no send of a journaled producer has it: somebody else wrote it, or a producer
    that is not wrapped. `copies` is the number of its records.

    Source: the definition of an id, which names what the user's program sent.
    Example: order-7 is at offset 12 of t-0, and the journals hold no send of order-7.
    """
    return r.sends.isNull()


@_id_class(lambda _: say("{id}: {story}; not in the log"))
def lost_id(r: Facts) -> Column:
    """An id was acknowledged, and no record with it is in the log: each of its acknowledged records is
    `lost`. An id that was sent again and whose second record is in the log is none of these.

    Source: as of a lost record.
    Example: order-7 was sent once and acknowledged at offset 41, which holds another record now.
    """
    return r.copies.isNull() & (r.acked > 0) & (r.lost == r.acked)


@_id_class(lambda _: say("{id}: {story}", _IN_THE_LOG))
def duplicate_id(r: Facts) -> Column:
    """An id is in the log more often than it is meant to be: its program has sent it again although the first
    record was written, or a record was written twice. `copies` is the number of its records in the log, which
    readers of committed records get, and `count` that of its sends.

    Source: a send that has failed for its program may be in the log all the same (KIP-98 makes the retries of
    a producer idempotent, not a second send of its program).
    Example: the send of order-11 timed out, it was sent again, and both records are in the log, at offsets 41
    and 57.
    """
    return r.copies > r.meant


@_id_class(lambda _: say("{id}: {story}", _IN_THE_LOG, ", in another order than sent"))
def reordered_id(r: Facts) -> Column:
    """Records of one id are in one partition in another order than they were sent: one stands before another
    that its producer sent earlier, or that was acknowledged before the first was sent. Each record counts
    where it occurs first. `count` is the number of sends.

    Source: the order in which a producer sends records to a partition is the order of the log (Kafka
    documentation, Introduction), with the settings that keep it (`reordered`).
    Example: order-7 was created and then paid, and the log holds the payment at offset 41 and the creation at
    offset 57.
    """
    return r.late


CLASSES = rules_in(globals())
