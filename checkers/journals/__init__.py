"""Journals of a saved run as DataFrames, and reports of missing ones."""
