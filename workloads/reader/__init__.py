"""Readers: live readers while faults go on, and the final read."""
