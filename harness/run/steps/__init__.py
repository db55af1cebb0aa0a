"""The steps of an experiment, carried out on a live cluster."""
