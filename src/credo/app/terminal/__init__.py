"""Results on a terminal: tables, bars and sentences."""
