"""What every engine is: the driver, its result, draws, errors, networks, evidence of models."""
