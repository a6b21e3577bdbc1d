"""Work shared by the cores of a machine: threads by the size of the work, rows in blocks."""
