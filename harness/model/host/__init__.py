"""This machine: free ports, processes, and what is fetched into the cache."""
