"""Classes of deliveries to readers; a record that is concerned may have a class of its own in addition.

Each takes rows of `checkers.deliveries.find.DELIVERIES` and returns, as a column, which of them are of its
class.
"""

from __future__ import annotations

from functools import partial

from pyspark.sql import Column

from checkers.classes.base import Facts, finding_class, rules_in
from checkers.evidence.sentences import if_null, say

_delivery_class = partial(finding_class, subject="delivery")


_SKIPPED = "{subscriber} passed over {count} offset(s) of {at} from {offset} on, which the final read holds"


@_delivery_class(lambda _: say(_SKIPPED, if_null("{reason}", "")))
def skipped(r: Facts) -> Column:
    """A reader skipped offsets that the final read holds (for readers of committed records: the final read of
    committed records). A reader without a group skips offsets between two consecutive deliveries of one
    session. A group skips offsets that no member ever got, between its first offset of a partition and its
    last, or a later one that it committed. If all members have auto.offset.reset=earliest, no offset was
    committed before, and a member committed one before any had processed a record, the group begins at the
    first offset, and what it never got from there on is skipped. If all members have auto.offset.reset=latest
    and no offset was committed before the first record was given to them, the group also skips what was sent
    after the end of its first ownership of the partition, by the journal of assignments: it was reset to the
    end of the log when it came back. Of a partition that was added while such a group read the others, it
    skips what was acknowledged before a member was assigned the partition. A reader or group that had read
    the topic before a recreate_topic step skips, of the new topic, what lies before the first record that it
    got of it. One finding per run of consecutive offsets, `count` of them.

    Source: a consumer gets a partition's records in the order of their offsets (Kafka documentation,
    Consumer); without a committed offset it begins where auto.offset.reset says (Consumer Configs, which
    calls it silent message loss for added partitions; KAFKA-20539).
    Example: a reader got offsets 4 and 8 one after the other; 5 to 7 are in the log.
    """
    return r.kind == "skipped"


@_delivery_class("{subscriber} got offset {offset} of {at} after offset {before} in one session")
def nonmonotonic_read(r: Facts) -> Column:
    """Within one session of a reader, an offset is not above the previous one of the same partition (and of
    the same topic, if a recreate_topic step has created it again).

    Source: a consumer's position only rises until it seeks or is assigned anew (Kafka documentation,
    Consumer).
    Example: offset 8, then offset 5, with no rebalance between them.
    """
    return r.kind == "nonmonotonic_read"


_AGAIN = "group {subscriber} was given offset {offset} of {at} {count} times"


@_delivery_class(lambda _: say(_AGAIN, if_null("{reason}", "")))
def redelivered(r: Facts) -> Column:
    """An offset was delivered to a group more than once: allowed, and counted (`count` deliveries). The
    offsets of a topic that was created again are others.

    Source: at-least-once delivery (Kafka documentation, Message Delivery Semantics).
    Example: offset 5 was delivered before the rebalance and, because it was not committed, again after it.
    """
    return r.kind == "redelivered"


CLASSES = rules_in(globals())
