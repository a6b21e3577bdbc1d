"""What every engine is: the driver, its result, draws, errors, and the evidence of models."""
