"""Members of share groups, each a process of its own, and their journals."""
