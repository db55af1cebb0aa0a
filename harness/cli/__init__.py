"""The command line. No other package knows typer."""
