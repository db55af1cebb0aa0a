"""Checks of a run's journals: Spark finds and counts findings, a pure step judges the counts.

`judgement.judge` needs no Spark and can be imported anywhere; almost everything else needs PySpark and Java.
No module here uses Docker or a Kafka client: a saved run folder is enough.
"""
