"""Producers of the user's own: what they sent and what was reported, journaled for a run or without one."""
