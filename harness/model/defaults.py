"""Defaults that several packages share."""

DEFAULT_VERSION = "4.4.0"
"""The newest Kafka release whose brokers, tools, clients and Streams are in Maven's repository. Built-in
applications of Kafka Connect and MirrorMaker stay with 4.3.1: of 4.4.0 connect-mirror and connect-file are
missing there."""
