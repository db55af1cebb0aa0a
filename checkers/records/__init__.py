"""What became of each record: its send, what was read of it, and whether that is as it should be."""
