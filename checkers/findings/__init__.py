"""Findings with their evidence: of records, of deliveries and of replicas."""
