"""Text: structured state in, string out. Pure functions; nothing here is ever parsed back into state."""
