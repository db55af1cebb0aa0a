"""Settings of producers and readers as data."""
