"""From findings to a verdict: summary, promises, retention, verdict. Only `summary` and `blame` use Spark."""
