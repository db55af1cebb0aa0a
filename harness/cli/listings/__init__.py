"""Lists of what the program knows: faults and classes of findings."""
