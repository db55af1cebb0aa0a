"""Clients whose settings have names of their own: names, defaults, what is said."""
