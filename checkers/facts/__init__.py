"""Facts: what the journals tell of every record that is not plain, and of every delivery that is odd.

A record is plain if there is nothing to say of it: sent once, acknowledged, in the final read exactly once,
where and as it was sent, in order, and whoever else read it saw the same; or not acknowledged and nowhere to
be found. Nearly all records are plain, so the work is done by numpy over blocks of numbers, inside Spark's
tasks; only facts, numbers too, travel on to the checks (`checkers.checks`).
"""
