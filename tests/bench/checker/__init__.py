"""Time and memory of a check against the same classification in other engines: `python -m
tests.bench.checker`.

`histories` writes run folders, `ours` and `peers` classify them, `measure` runs one of them in a process of
its own and watches its memory, `table` turns the measurements into what is printed.
"""
