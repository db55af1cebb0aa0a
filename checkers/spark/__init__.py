"""Spark sessions: local, standalone clusters, Spark Connect, and what executors are sent."""
