"""Findings with their evidence: what is joined to a record, and findings beside the records."""
