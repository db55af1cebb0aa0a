"""Deliveries to share groups (KIP-932)."""
