"""The fuzzer: seeded cases of hostile and odd input, run under limits and counted."""
