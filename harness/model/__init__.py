"""Types shared by every package: errors, journal schemas, topology views, run metadata and results.

Nothing here talks to Docker, Kafka or Spark, so `faults`, `workloads` and `checkers` may all import it.
"""
