"""Histories of other tools, turned into our journals. Pure: lines in, tables out."""
