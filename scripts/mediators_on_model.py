"""Mediators that were trained on simulators, and those by rule, in games of the model itself.

    python scripts/mediators_on_model.py RUNS --game ipd-3 --out FILE.json

``RUNS`` is what ``coplay reproduce mediation/table1 --out RUNS`` wrote. Every arm plays the same number of games with each seed of its run; all
share one model and what it has read. The file has our numbers on the model beside those on the simulator.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from coplay.evaluation.match import play_match
from coplay.games import make_game
from coplay.games.base import Game
from coplay.games.records import Occupant
from coplay.players.named import make_player
from coplay.recipes.mediation.dilemmas import ARMS, OURS, PERSONAS, game_of
from coplay.runs.contestants import contestants
from coplay.runs.directory import RunDirectory
from coplay.statistics import mean_ci95

NUMBERS = ("welfare", "cooperation", "interventions")


def numbers_of(record: dict[str, object]) -> dict[str, float]:
    """The numbers of a mediation record, one seed's."""
    return {
        "welfare": record["welfare"]["mean"],  # type: ignore[index]
        "cooperation": record["collective"]["cooperation"]["mean"],  # type: ignore[index]
        "interventions": record["interventions"]["mean"],  # type: ignore[index]
    }


def played(game: Game, seated: dict[str, Occupant], *, games: int, seed: int) -> dict[str, float]:
    """The numbers of so many games."""
    found = play_match(game, seated, rounds=game.rounds, episodes=games, seed=seed).summary()
    return numbers_of(found["mediation"])  # type: ignore[arg-type]


def over_seeds(values: list[dict[str, float]]) -> dict[str, object]:
    """Mean, interval and all values of each number."""
    found: dict[str, object] = {}
    for name in NUMBERS:
        each = [one[name] for one in values]
        interval = mean_ci95(each)
        found[name] = {"mean": interval.mean, "ci95": interval.half_width, "seeds": each}
    return found


def main() -> None:
    """Play and write, arm by arm."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path)
    parser.add_argument("--game", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--games", type=int, default=20, help="games of each arm and seed")
    parser.add_argument("--arms", default=",".join((*ARMS, *OURS)), help="arms with commas")
    parser.add_argument("--model", default="choose:smollm2")
    options = parser.parse_args()
    game = make_game(game_of(options.game)["tiny"])
    players = {
        seat: Occupant(make_player(f"{options.model}@{persona}", game, seat), f"{options.model}@{persona}")
        for seat, persona in zip(game.playing_seats, PERSONAS, strict=True)
    }
    found = {}
    for arm in options.arms.split(","):
        path = next(
            one for one in (options.runs / arm, options.runs / "runs" / f"{options.game}-{arm}") if one.is_dir()
        )
        run = RunDirectory.open(path)
        on_simulator, on_model = run.evaluation(), []
        spec = str(path) if run.config.learners else run.config.seats["mediator"][0]
        (mediator,) = contestants([spec], game)
        for i, seed in enumerate(run.config.seeds):
            seated = {**players, "mediator": mediator.occupant(i, "mediator")}
            on_model.append(played(game, seated, games=options.games, seed=seed))
        theirs = [numbers_of(one["mediation"]) for one in on_simulator["seeds"].values()]  # type: ignore[arg-type]
        found[arm] = {"model": over_seeds(on_model), "simulator": over_seeds(theirs)}
        print(arm, {name: round(found[arm]["model"][name]["mean"], 3) for name in NUMBERS}, flush=True)  # type: ignore[index]
        report = {"version": 1, "game": game.name, "model": options.model, "games": options.games, "arms": found}
        options.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
