"""Reports as one HTML page with pictures."""
