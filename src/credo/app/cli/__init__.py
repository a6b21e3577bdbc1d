"""The commands of ``credo``: arguments, checks and what each one does."""
