"""Histories from and for other tools: Kafka's verifiable clients, Jepsen."""
