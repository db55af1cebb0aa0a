"""kafka-chaos: start real Kafka clusters, break them on purpose, and account for every record."""
