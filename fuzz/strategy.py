"""What the fuzzer draws, as strategies of hypothesis, which shrinks what it finds."""

from hypothesis import strategies as st

from fuzz.messy_table import messy_table, text_format
from fuzz.small_network import small_network

__all__ = ["messy_tables", "small_networks", "sources", "text_formats"]

sources = st.randoms(use_true_random=False)
"""Sources of randomness: whatever takes a `random.Random` can be searched and shrunk."""

messy_tables = sources.map(messy_table)
small_networks = sources.map(small_network)
text_formats = sources.map(text_format)
