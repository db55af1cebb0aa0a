"""Producers of the Java client, called over py4j: for write steps, and for drive steps."""
