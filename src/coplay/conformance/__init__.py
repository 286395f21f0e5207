"""The conformance kit: what games and players must get right before anything is trained on them."""
