"""Many runs: a pool of clusters, worker processes, a resumable store of runs."""
