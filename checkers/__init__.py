"""Checks over the journals of a run: Spark measures, a pure step judges.

`judge` needs no Spark and may be imported anywhere; everything else needs PySpark and Java, and no module
here knows Docker or a Kafka client: a saved run folder is enough.
"""
