"""What every estimator keeps: checked inputs, labels, settings, verbs and verdicts."""
