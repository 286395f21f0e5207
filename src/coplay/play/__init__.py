"""How games are played: the loop over tables, seating, past selves, transcripts."""
