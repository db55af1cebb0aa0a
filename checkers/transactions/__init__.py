"""Transactions that poll: which of them wrote and polled before which others, and the cycles of that."""
