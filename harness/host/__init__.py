"""This machine: free ports, identity of processes, Maven and the cache of jars."""
