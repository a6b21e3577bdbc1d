"""Mutation tests of the capability table: a test must fail if its symbol is wrong."""
