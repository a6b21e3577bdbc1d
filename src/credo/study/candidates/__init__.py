"""The models that a table is offered, and how they are trained in folds."""
