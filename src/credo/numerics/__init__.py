"""Arrays in, arrays out: stable linear algebra, log-space sums, optimizers, random streams."""
