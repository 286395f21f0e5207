"""Players: whatever fills a seat."""
