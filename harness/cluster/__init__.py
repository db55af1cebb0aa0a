"""Kafka nodes and the running cluster, started by the harness or by someone else."""
