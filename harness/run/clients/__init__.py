"""The producers, live readers and share groups of one run."""
