"""Producers: what they send, how a send ends, and the journal of sends."""
