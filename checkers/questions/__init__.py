"""The user's own questions: the journals of a run as views for people, and SQL over them.

views.py     the views of a run: its journals, its records, its findings, its faults; a query and its answer
records.py   the view `records`: one row per record, what was sent beside what was read
ask.py       what a row of each view is, and what is wrong with a query
"""
