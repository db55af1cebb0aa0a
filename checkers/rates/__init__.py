"""Loss and duplication rates over many run folders: `rows.py` judges each run in a task of Spark,
`aggregate.py` adds up groups of runs, and their latencies from the sends."""
