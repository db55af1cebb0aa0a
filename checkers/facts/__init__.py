"""Facts about records with an anomaly and about deliveries with one, computed from the journals.

A record without an anomaly is *clean* and produces no row. It was sent once, acknowledged, and is in the
final read exactly once, where and as it was sent, in order, and every other reader got the same; or it was
not acknowledged and nobody read it. Nearly all records are clean, so numpy finds the others in blocks of
numbers inside Spark's tasks. Only facts, which are numbers too, go on to the checks (`checkers.checks`)."""
