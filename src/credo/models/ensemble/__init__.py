"""Several models as one: averages by evidence, stacks by held-out scores, searches."""
