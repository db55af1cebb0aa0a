"""Tools that need no run of ours: the audit of configuration files, files from and for other tools."""
