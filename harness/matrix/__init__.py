"""Many arms, many runs of each, and what they add up to.

spec.py      a matrix as data: axes, levels, include and exclude, repeats, SLOs
expand.py    from axes to arms, each an `Experiment` of one arm
refusal.py   what a client says of settings that it refuses
loading.py   matrix files and built-in matrices
order.py     which run comes next: seeded, interleaved, until the interval is narrow enough
estimate.py  how long it will take
store.py     the results folder: matrix.json, and outcome.json of each run that is over
result.py    what a matrix.json holds
running.py   the runs, on clusters that arms share
lanes.py     how many clusters are up at a time, and which run each takes next
figures.py   shares, rates and percentiles of each arm
table.py     the table that a matrix ends with
compare.py   is a new result worse than a base
"""
