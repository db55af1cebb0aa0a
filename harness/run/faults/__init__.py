"""The faults of one run: injected, proved, healed, and what they may leave."""
