"""Kafka's wire protocol, spoken to one named broker, with TLS and SASL."""
