"""Statistics over runs. Pure: numbers in, numbers out; no Spark, no files.

The unit is the run: loss comes in bursts, so the records of one run are not independent of each other.

    shares.py        k of n runs: Clopper-Pearson, and the difference of two shares (Newcombe)
    rates.py         per million records: bootstrap over runs; medians and percentiles of runs
    comparison.py    is the new worse than the base: exact rank test, and how many tests count (Tarone)
"""
