"""The known bugs, one module per bug."""
