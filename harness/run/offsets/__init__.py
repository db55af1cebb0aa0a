"""Committed offsets of the groups of a run: asked for, and committed by steps."""
