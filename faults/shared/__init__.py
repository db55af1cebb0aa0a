"""What several faults share."""
