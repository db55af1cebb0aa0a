"""Many runs: the loop that makes them, a pool of clusters, worker processes, a resumable store;
on it matrices and the series of a night."""
