"""What every command writes with: consoles, progress, CSV files."""
