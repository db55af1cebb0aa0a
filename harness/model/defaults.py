"""Choices that several packages must agree on."""

DEFAULT_VERSION = "4.3.1"
"""The newest Kafka release whose artifacts resolve whole (4.4.0 lacks kafka-tools)."""
