"""Many arms, many runs of each, and the figures over them."""
