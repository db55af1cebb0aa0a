"""The final read, and the proof that it is complete."""
