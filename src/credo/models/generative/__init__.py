"""Classifiers by the density of each class: naive Bayes, Gaussian class-conditionals."""
