"""This machine: free ports, identity of processes, Maven and the jar cache."""
