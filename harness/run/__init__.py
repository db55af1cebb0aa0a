"""One run of an experiment: steps, faults, clients, sampler, final read and replay."""
