"""Journals of a saved run as DataFrames, and what is missing of them."""
