"""Loss and duplication rates over many run folders, as a Spark job.

rows.py        one row per run: judged, with its value on each axis that is grouped by
aggregate.py   shares, rates and percentiles of each group; latencies from the sends
"""
