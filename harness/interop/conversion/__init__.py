"""Experiments of ours out of the files of other chaos tools."""
