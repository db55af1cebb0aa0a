"""What faults by control groups share: setting limits, reading them, and sampling their effect."""
