"""From counts to a verdict: promises, retention, unavailability, summary. Pure but for the summary."""
