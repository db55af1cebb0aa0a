"""Many arms, many runs of each, and the figures over them.

spec.py            a matrix as data: axes, levels, include and exclude, repeats, SLOs; matrix files
expand.py          from axes to arms, each an `Experiment` of one arm
client_refusal.py  why the client refuses settings
plan.py            from the options of the command line to what is run, and how long it will take
ordering.py        which run comes next: seeded, interleaved, until the interval is narrow enough
runner.py          the runs, on clusters that arms share
store.py           the results folder: matrix.json, and outcome.json of each finished run
result.py          what a matrix.json holds
figures.py         shares, rates and percentiles of each arm
page.py, table.py, heat_maps.py    what is told of the result; export.py for other programs
compare.py, comparison_table.py    is a new result worse than a base
"""
