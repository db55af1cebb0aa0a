"""Built-in applications, each a program of its own: `python -m harness.application.programs.NAME --help`."""
