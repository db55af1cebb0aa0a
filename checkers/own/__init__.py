"""The check of what producers of the user's own wrote: the ids that its records have."""
