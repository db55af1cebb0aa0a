"""What faults by control groups share: setting limits, reading them back, and sampling their effect."""
