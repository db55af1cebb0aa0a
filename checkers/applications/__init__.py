"""Findings about the outputs of an application under test."""
