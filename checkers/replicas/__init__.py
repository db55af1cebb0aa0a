"""Replicas that differ: what the brokers' own segment files hold at each offset of a partition."""
