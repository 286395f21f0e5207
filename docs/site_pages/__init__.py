"""Extensions of the documentation's site."""
