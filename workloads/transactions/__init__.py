"""Transactions beside those of the producers: that read what they write, that process, and rivals."""
