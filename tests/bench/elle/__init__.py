"""Elle's verdicts on histories with planted anomalies, which the tests compare with those of the check."""
