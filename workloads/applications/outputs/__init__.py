"""Outputs of an application under test: which inputs made them, and their rows."""
