"""Drives the Spark checks of saved runs: worker, repeated checks, jars and the topic reader."""
