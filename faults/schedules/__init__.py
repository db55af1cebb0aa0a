"""When faults begin and end: the entries of an experiment file, and the pure function that decides."""
