"""Kafka's files and formats on disk: segments, record batches, checkpoints."""
