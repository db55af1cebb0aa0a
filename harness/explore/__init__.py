"""Exploration: schedules are drawn from a menu until something breaks, and what breaks is shrunk.

menu.py              what is drawn from, and what is drawn, as data
plan.py              from the options of the command line to what is explored, and for how long
selection.py         draws the next schedule, guided by what has not been covered
phases.py            reads from a run's journals which phase the cluster was in when a fault hit
explorer.py          decides what is run next; trial_runner.py makes the run
shrinking.py         makes a violation smaller
reproducers.py       writes a violation as an experiment file and a pytest test
result.py            the folder: what `result.json` holds, and `outcome.json` of each run
page.py              what is told of the result
"""
