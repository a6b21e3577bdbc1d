"""Network files: BIF, XMLBIF, UAI, JSON and networkx."""
