"""Reads configuration files (YAML, .properties) and locates mistakes in them."""
