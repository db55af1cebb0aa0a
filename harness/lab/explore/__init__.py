"""Exploration: schedules are drawn from a menu until something breaks, and what breaks is shrunk."""
