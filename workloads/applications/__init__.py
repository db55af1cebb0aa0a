"""Applications under test: starts, watches, controls and stops them."""
