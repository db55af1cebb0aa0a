"""The check of the ids that a user's records have of their own."""
