"""Writers of journals: whole Parquet parts, and small journals row by row."""
