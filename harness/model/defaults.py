"""Defaults that several packages share."""

DEFAULT_VERSION = "4.3.1"
"""The newest Kafka release with all artifacts in Maven's repository (4.4.0 lacks kafka-tools)."""
