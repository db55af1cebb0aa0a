"""What a team's own configuration promises, and what in it contradicts itself: without a cluster."""
