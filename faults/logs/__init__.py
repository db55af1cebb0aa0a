"""What faults on log dirs share: reading and changing the files that Kafka keeps there."""
