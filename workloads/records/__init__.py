"""The workload that every run has: records, their producers and readers, identity and journals."""
