"""The experiment as data: cluster, topic, workload, steps, arms, conditions and the plan of a run."""
