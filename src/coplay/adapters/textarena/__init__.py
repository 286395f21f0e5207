"""TextArena: its environments as games, and its host of a dilemma of three with the rules of coplay's own."""

from coplay.adapters.textarena.dilemma import HostedDilemma, host_payoffs, hosted, play_hosted
from coplay.adapters.textarena.game import textarena_game

__all__ = ["HostedDilemma", "host_payoffs", "hosted", "play_hosted", "textarena_game"]
