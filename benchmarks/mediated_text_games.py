"""Games of a language model with three personas: all games, seats and personas together, beside one request at a time.

    python benchmarks/mediated_text_games.py --games 8 --one-by-one 1 --max-tokens 16

Both play the same games of ``ipd-3:talk=0`` with the same chance; times are seconds of the processor, summed over threads, since other programs may run.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence

from coplay.evaluation.match import play_match
from coplay.games import make_game
from coplay.games.records import Episode, Occupant, Reply, Request
from coplay.models.generation import Generator
from coplay.models.threads import set_threads
from coplay.players.base import PlayerWrapper
from coplay.players.model_player import ModelPlayer
from coplay.players.named import make_player

PERSONAS = ("malicious", "standard", "benevolent")


class OneByOne(PlayerWrapper):
    """Asks for one reply at a time, and reads each prompt whole."""

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        """See the class."""
        return [reply for request in requests for reply in self.player.act([request])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="smollm2")
    parser.add_argument("--game", default="ipd-3:talk=0")
    parser.add_argument("--games", type=int, default=8)
    parser.add_argument("--one-by-one", type=int, default=1, metavar="GAMES")
    parser.add_argument("--max-tokens", type=int, default=16)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    set_threads(options.threads)
    together, shared = timed(options, options.games, alone=False)
    alone, plain = timed(options, options.one_by_one, alone=True)
    same = [replies(one) for one in together[: len(alone)]] == [replies(one) for one in alone]
    found = {
        "model": options.model,
        "game": options.game,
        "max_tokens": options.max_tokens,
        "games": {"together": options.games, "one_by_one": options.one_by_one},
        "cpu_seconds_a_game": {"together": shared / options.games, "one_by_one": plain / options.one_by_one},
        "ratio": (plain / options.one_by_one) / (shared / options.games),
        "same_replies": same,
    }
    print(json.dumps(found, indent=2))


def timed(options: argparse.Namespace, games: int, *, alone: bool) -> tuple[list[Episode], float]:
    """Games, and the processor's seconds that they took."""
    game = make_game(options.game)
    seated = {}
    for seat, persona in zip(game.playing_seats, PERSONAS, strict=True):
        player = make_player(f"fallback:{options.model}@{persona}", game, seat, max_tokens=options.max_tokens)
        assert isinstance(player, ModelPlayer)
        if alone:
            with_the_whole_prompt(player)
        seated[seat] = Occupant(OneByOne(player) if alone else player, player.name)
    start = time.process_time()
    found = play_match(game, seated, rounds=game.rounds, episodes=games, seed=0)
    return found.episodes, time.process_time() - start


def with_the_whole_prompt(player: ModelPlayer) -> None:
    """Have a player generate as any model does: nothing is kept from one request to the next."""
    model = player._text_model
    model.generator = Generator(model.scorer, stop=model.stop)
    if model._fallback is not None:
        model._fallback.generator = model.generator


def replies(episode: Episode) -> list[str]:
    return [turn.reply.text for turns in episode.turns.values() for turn in turns]


if __name__ == "__main__":
    main()
