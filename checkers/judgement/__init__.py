"""From findings to a verdict: counts, summary, promises, retention, verdict."""
