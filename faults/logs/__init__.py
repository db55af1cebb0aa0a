"""What faults on log dirs share: reading and changing Kafka's files."""
