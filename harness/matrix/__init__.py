"""Many arms, many runs of each, and the figures over them.

spec.py            a matrix as data: axes, levels, include and exclude, repeats, SLOs; matrix files
expand.py          from axes to arms, each an `Experiment` of one arm
plan.py            from the options of the command line to what is run, and how long it will take
runner.py          the runs: seeded, interleaved, on clusters that arms share, until the interval is narrow
result.py          the results folder: what matrix.json holds, and outcome.json of each finished run
figures.py         shares, rates and percentiles of each arm
page.py, table.py  what is told of the result, and of two, to people and to other programs
compare.py         is a new result worse than a base
"""
