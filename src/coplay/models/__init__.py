"""Models: the embedded one, loading, the adapter bank, scoring, published policies."""
