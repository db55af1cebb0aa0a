"""Loss and duplication rates over many run folders: `rows.py` judges each run in a task of Spark,
`figures.py` makes the figures of a group of runs (of matrices too), `aggregate.py` a table of all groups,
with latencies from the sends."""
