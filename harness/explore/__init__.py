"""Exploration: schedules drawn from a menu until something breaks, and what breaks shrunk to its least.

`menu.py` and `trial.py` are what is drawn from and what is drawn, as data; `choosing.py` draws, guided by
what `coverage.py` says is new; `phases.py` reads off a run's journals what the cluster was at when a fault
hit; `shrinking.py` makes a violation smaller. `running.py` decides what is run next, within `budget.py`;
`making.py` makes the run, with a `rig.py`, on a cluster that `reset.py` makes as good as new. `saving.py`
writes what was found, `store.py` is the folder, `result.py` what `result.json` holds (`counting.py` its
figures), `table.py` and `page.py` show it, `commanding.py` is what the command line asks for.
"""
