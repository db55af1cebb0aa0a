"""Producers and readers: record identity, outcomes of sends, journals, and the final read.

Imports nothing of ours but `harness.model`.
"""
