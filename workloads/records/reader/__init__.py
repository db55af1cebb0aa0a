"""Readers: live readers during the faults, and the final read."""
