"""Writes the generated pages of docs/. Not part of the installed package."""
