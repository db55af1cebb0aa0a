"""The Kafka client's own log lines go to Python's logging, never directly to the terminal."""

from __future__ import annotations

import logging

LOGGER_NAME = "kafka_chaos.client"


def client_logger() -> logging.Logger:
    """The logger to hand to confluent-kafka clients; without a handler of the user's it is silent."""
    logger = logging.getLogger(LOGGER_NAME)
    if not any(isinstance(handler, logging.NullHandler) for handler in logger.handlers):
        # Without this, logging's last resort would print warnings to stderr.
        logger.addHandler(logging.NullHandler())
    return logger
