"""Kafka's clients compared: a program for each, the faults that all of them go through, and what came out."""
