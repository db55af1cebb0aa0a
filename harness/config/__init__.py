"""Reading configuration files: YAML, .properties, and where in a file a mistake is."""
