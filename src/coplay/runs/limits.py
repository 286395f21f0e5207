"""The largest numbers that a config may ask for: beyond them a typing error is likelier than a wish."""

from __future__ import annotations

MOST = 10**9
"""Of numbers of trials, tokens and the like."""

MOST_SEEDS = 10_000
"""Of a run."""

MOST_RANK = 2**16
"""Of adapters."""

MOST_TURNS = 10**7
"""Of a trial, and of the evaluation: games x episodes x rounds x seats x seeds. All are kept in memory until they are learnt from."""
