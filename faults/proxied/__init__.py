"""What faults ask of the proxies in front of a cluster's nodes: which frames, and what to do with them."""
