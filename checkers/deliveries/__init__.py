"""Deliveries: what live readers and consumer groups skipped, got again or got in the wrong order, and values
that are damaged."""
