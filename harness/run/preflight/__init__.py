"""Checks before anything starts: the doctor, kernel probes, what this machine can and cannot do."""
