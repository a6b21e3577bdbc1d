"""Questions to networks as typed in a shell, and their answers."""
