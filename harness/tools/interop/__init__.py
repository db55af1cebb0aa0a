"""Histories from and for other tools (Kafka's verifiable clients, Jepsen): their files, turned into our
journals."""
