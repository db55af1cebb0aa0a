"""What a user's own configuration guarantees, and which settings contradict each other; no cluster is
needed."""
