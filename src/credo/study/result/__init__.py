"""What a study answers, as values that terminal and report both read."""
