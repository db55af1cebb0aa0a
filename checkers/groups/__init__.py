"""The progress of consumer groups: committed offsets, and owners of partitions."""
