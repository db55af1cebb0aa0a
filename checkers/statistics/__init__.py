"""Statistics over runs. Pure: numbers in, numbers out; no Spark, no files.

The unit is the run: loss comes in bursts, so the records of one run are not independent of each other.
"""
