"""What must hold before a release: the wheel works alone, and with the versions it states."""
