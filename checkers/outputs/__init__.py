"""Findings about the outputs of an application under test."""

from checkers.outputs.find import OutputFound, find

__all__ = ["OutputFound", "find"]
