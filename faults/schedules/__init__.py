"""When faults begin and end: what an experiment file may say, and the pure function that decides."""
