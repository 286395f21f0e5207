"""What a person at a terminal sees: progress and tables."""
