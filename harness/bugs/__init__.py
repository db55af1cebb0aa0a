"""Bugs of Kafka that are known: each on a version or setting that has it, and on one that has not.

A module a bug; `registry.BUGS` has them all in order.
"""
