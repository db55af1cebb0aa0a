"""A user's own configurations of a producer compared: each file under the same faults, as a matrix."""
