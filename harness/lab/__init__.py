"""The laboratory: claims, bugs and random schedules, tried on real brokers, and their built-in items."""
