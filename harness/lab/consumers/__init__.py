"""Consumers of Kafka's clients compared: what each skips or repeats when it ends, joins or meets odd logs."""
