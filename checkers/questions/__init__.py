"""SQL over a run: its journals, records, findings and faults as views, for the user's own questions.

views.py     the views of a run; a query over them and its answer
query.py     what a row of each view is, and what is wrong with a query
differences.py  where Sail is known to answer otherwise than Apache Spark, by the text of a query
comparison.py   the answers of two engines to one query
"""
