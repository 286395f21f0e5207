"""Other people's libraries, both ways: their games and players here, ours there."""
