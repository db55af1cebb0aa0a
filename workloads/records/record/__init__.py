"""The identity of a record: which run, producer and sequence number it belongs to."""
