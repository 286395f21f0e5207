"""The audit of a player: what co-players take from it, those that learn among them, and a verdict that a CI job can use."""
