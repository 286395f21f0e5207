"""What can be wrong with a config, found without loading a model's weights."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from coplay.errors import UsageError, unknown
from coplay.games.base import Game
from coplay.games.conversation import MOST_LISTED, check_memory, states_of
from coplay.games.matrix import MatrixGame
from coplay.games.memory import COUNTING, Memory
from coplay.games.normal_form import NormalFormGame
from coplay.games.safety import fair_payoff, payoff_scale
from coplay.learners.config import LearnerConfig
from coplay.models.loading import model_path
from coplay.players.endpoint_file import NoEndpointFile
from coplay.players.named import check_personas, make_player
from coplay.runs.bank import starts_of
from coplay.runs.config import Config
from coplay.runs.frozen import FrozenAdapters, frozen_adapters, is_run
from coplay.runs.games import game_of
from coplay.runs.initial import initial_length
from coplay.runs.pools import BEST_RESPONSES, POOLS
from coplay.runs.rates import check_rates
from coplay.runs.responses import check_responses

MOST_STATES, MOST_COUNTED = 1024, 32
"""States of a round up to which a table learns, and a table learns with counts."""


def replies_of(learner: LearnerConfig, game: Game) -> str:
    """How a language model replies."""
    return learner.replies or ("choice" if game.one_token else "text")


def seats_of(config: Config, name: str) -> list[str]:
    """The seats that a player may fill, by its name in the config."""
    return [seat for seat in config.seats if name in config.sits_in(seat)]


def check_seats(config: Config, game: Game) -> None:
    """Find what is wrong with seats and learners; raises UsageError."""
    for seat in config.seats:
        if seat not in game.seats:
            raise unknown(f"seat of game {game.name!r}", seat, game.seats)
    for seat in game.seats:
        if seat not in config.seats:
            raise UsageError(f"seats: nobody sits in {seat!r} of game {game.name!r}; set seats.{seat}=PLAYER")
    for name, learner in config.learners.items():
        check_rates(name, learner)
        _check_learner(name, learner, seats_of(config, name), game)
        if learner.policy == "network":
            _check_network(name, learner, game.seats if config.rotate_seats else seats_of(config, name), game)
        _check_safety(name, config, game)
    for seat in config.seats:
        with _of_seat(seat):
            check_personas(who for who in config.sits_in(seat) if who not in config.learners and not is_run(who))
    for seat in config.seats:
        shifted = config.pools.shifted if POOLS in config.seats[seat] else ()
        for one in (*config.sits_in(seat), *shifted):
            if one not in (*config.learners, BEST_RESPONSES) and not is_run(one):
                with _of_seat(seat):
                    make_player(one, game, seat)


@contextlib.contextmanager
def _of_seat(seat: str) -> Iterator[None]:
    """In the block, what is wrong is wrong with who sits in a seat."""
    try:
        yield
    except UsageError as error:
        kind = NoEndpointFile if isinstance(error, NoEndpointFile) else UsageError
        raise kind(f"seats.{seat}: {error}") from None


def _check_safety(name: str, config: Config, game: Game) -> None:
    """A safety objective needs a game that says what cooperation pays and what is fair. One who does not play, such as a mediator, has none."""
    learner = config.learners[name]
    if learner.algorithm != "group" and learner.group.safety.active:
        raise UsageError(
            f"learners.{name}.group.safety: penalties are terms of algorithm=group, not of {learner.algorithm}"
        )
    if learner.group.safety.active or (learner.algorithm == "group" and config.in_turn):
        try:
            for seat in seats_of(config, name):
                if seat not in game.playing_seats and not learner.group.safety.active:
                    continue
                payoff_scale(game, seat)
                fair_payoff(game, seat)
        except ValueError as error:
            raise UsageError(
                f"learners.{name}.group.safety: {error}; give it cooperation_payoff and fair_payoff"
            ) from None


def _check_learner(name: str, learner: LearnerConfig, seats: Sequence[str], game: Game) -> None:
    _check_memory(name, learner, game)
    if learner.fallback:
        _check_fallback(name, learner, game)
    if game.actions is None:
        _check_without_actions(name, learner, seats, game)
        return
    if learner.policy == "language_model" and replies_of(learner, game) == "choice":
        _check_choice(name, game)
    actions = game.actions[seats[0]]
    if learner.policy == "tabular" and any(game.actions[seat] != actions for seat in seats):
        raise UsageError(f"learners.{name}: one table cannot sit in seats with different actions ({', '.join(seats)})")
    if learner.labels is not None and len(learner.labels) != len(actions):
        raise UsageError(
            f"learners.{name}.labels: game {game.name!r} needs {len(actions)} labels (for {', '.join(actions)}), got {len(learner.labels)}"
        )
    if learner.policy == "tabular":
        _check_tabular(name, learner, seats, game)


def _check_choice(name: str, game: Game) -> None:
    """Prompts for one-token replies are written for games in normal form alone."""
    if not isinstance(game, NormalFormGame):
        raise UsageError(
            f"learners.{name}: replies=choice is one label a round, in a matrix game or another game in normal form; {game.name!r} is none."
            " Use replies=text"
        )


def _check_fallback(name: str, learner: LearnerConfig, game: Game) -> None:
    """A choice among the actions, for a model that may say anything."""
    where = f"learners.{name}.fallback"
    if learner.policy != "language_model" or replies_of(learner, game) != "text":
        raise UsageError(f"{where}: it is for language models that reply in text; set fallback=false")
    if game.actions is None and not game.max_choices:
        raise UsageError(
            f"{where}: the action is chosen among a few; game {game.name!r} also asks for open replies, such as messages or amounts."
            " Set fallback=false"
        )


def _check_memory(name: str, learner: LearnerConfig, game: Game) -> None:
    """Tables have a line for each state, and one for each pair of states where they are shown counts; prompts list all counts."""
    if learner.memory is Memory.LAST_CHOICE:
        try:
            check_memory(game, learner.memory)
        except UsageError as error:
            raise UsageError(f"learners.{name}: {error}") from None
    counting = learner.memory in COUNTING
    tabular = learner.policy == "tabular" and game.actions is not None
    most = (MOST_COUNTED if counting else MOST_STATES) if tabular else MOST_LISTED
    states = states_of(game)
    if states <= most or not (tabular or counting):
        return
    raise UsageError(
        f"learners.{name}: a round of game {game.name!r} can end in {states} states, and policy={learner.policy} with"
        f" memory={learner.memory} takes at most {most}; use {'memory=last_round' if counting else 'policy=language_model'},"
        " or fewer seats or actions"
    )


def _check_without_actions(name: str, learner: LearnerConfig, seats: Sequence[str], game: Game) -> None:
    """A game that is not one choice among a few actions a round."""
    where = f"learners.{name}"
    if learner.policy == "language_model" and replies_of(learner, game) == "choice":
        raise UsageError(
            f"{where}: replies=choice is one label a round; game {game.name!r} asks for more. Use replies=text"
        )
    if learner.policy != "tabular":
        return
    if not all(map(game.most_choices, seats)):
        raise UsageError(
            f"{where}: a table chooses among a few actions; game {game.name!r} also asks for open replies, such as messages or amounts."
            " Use policy=language_model"
        )
    if learner.algorithm in ("exact", "lola"):
        raise UsageError(f"{where}.algorithm: exact gradients are of two-seat matrix games; {game.name!r} is none")
    if learner.initial is not None:
        raise UsageError(f"{where}.initial: tables of game {game.name!r} start from uniform; set initial=null")


def _check_network(name: str, learner: LearnerConfig, seats: Sequence[str], game: Game) -> None:
    """A network chooses among a few actions, and is shown as many features in every seat."""
    for seat in seats:
        if not game.most_choices(seat):
            raise UsageError(
                f"learners.{name}: a network chooses among a few actions; game {game.name!r} also asks {seat} for open replies, such as"
                " messages or amounts. Use policy=language_model"
            )
    counts = {seat: len(game.feature_names(seat, window=learner.window)) for seat in seats}
    if len(set(counts.values())) > 1:
        shown = ", ".join(f"{seat} {count}" for seat, count in counts.items())
        raise UsageError(
            f"learners.{name}: one network cannot sit in seats with different numbers of features ({shown}); give each seat a learner of its own"
        )


def _check_tabular(name: str, learner: LearnerConfig, seats: Sequence[str], game: Game) -> None:
    where = f"learners.{name}"
    if learner.memory in (Memory.TRANSCRIPT, Memory.WINDOW, Memory.CHAT):
        raise UsageError(f"{where}.memory: a tabular learner cannot read transcripts; use counts, or a language model")
    if learner.algorithm in ("exact", "lola") and not isinstance(game, MatrixGame):
        raise UsageError(f"{where}.algorithm: exact gradients are of two-seat matrix games; {game.name!r} is none")
    if learner.algorithm in ("exact", "lola") and len(seats) > 1:
        raise UsageError(
            f"{where}.algorithm: {learner.algorithm} learns in one seat; give the other a learner of its own"
        )
    if learner.initial is None:
        return
    length = initial_length(game, seats[0])
    if length is None:
        raise UsageError(
            f"{where}.initial: game {game.name!r} has more than two actions; learners start from uniform. Set {where}.initial=null"
        )
    if len(learner.initial) != length:
        words = ", ".join("/".join(map(str, state)) for state in game.own_states(seats[0]))
        raise UsageError(
            f"{where}.initial: game {game.name!r} needs {length} probabilities"
            f" (at the start, then after {words}), got {len(learner.initial)}"
        )


def language_models(config: Config) -> list[str]:
    """The learners that are language models, by name."""
    return [name for name, learner in config.learners.items() if learner.policy == "language_model"]


def players_of(config: Config) -> str:
    """Who plays, in words: what learners are made of, and what fitted simulators were fitted to. A mediator does not play."""
    game, found = game_of(config), []
    for seat in game.playing_seats:
        for who in config.sits_in(seat):
            learner = config.learners.get(who)
            found.append(learner.policy if learner is not None else told_of(who, game, seat))
    return "; ".join(dict.fromkeys(found))


def told_of(who: str, game: Game, seat: str) -> str:
    """A player in words."""
    player = make_player(who, game, seat) if not is_run(who) else None
    return str(getattr(player, "about", "")) or (who if player is None else player.name)


def checked(config: Config) -> tuple[Game, dict[str, FrozenAdapters]]:
    """The game and the frozen co-players of a config, once all is checked that can be without a model's files being read.

    Building a run begins with this, so that ``--dry-run`` refuses what the run would.

    Raises:
        UsageError: saying what is wrong.
    """
    game = game_of(config)
    check_seats(config, game)
    check_responses(config, game)
    frozen = frozen_adapters(config)
    if language_models(config):
        model_path(config.model)
        starts_of(config)
    if config.past_selves.probability > 0 and not any(len(seats_of(config, n)) > 1 for n in language_models(config)):
        raise UsageError("past_selves: tables and networks have no past selves; set past_selves.probability=0")
    return game, frozen


def check_without_weights(config: Config) -> None:
    """Find what is wrong with a config as far as it shows without the model's weights: game, seats, players, labels that are no single tokens.

    Raises:
        UsageError: saying which.
    """
    game, _ = checked(config)
    models = language_models(config)
    choosing = [name for name in models if replies_of(config.learners[name], game) == "choice"]
    if choosing and isinstance(game, NormalFormGame):
        _check_labels(config, game, choosing)


def _check_labels(config: Config, game: NormalFormGame, names: Sequence[str]) -> None:
    from coplay.games.memory import START
    from coplay.models.labels import reply_tokens
    from coplay.models.loading import load_tokenizer
    from coplay.models.talking import model_chat

    tokenizer = load_tokenizer(config.model)
    chat = model_chat(config.model, config.chat, chat_date=config.chat_date, choices=True)
    for name in names:
        for seat in seats_of(config, name):
            parts = game.prompt_parts(
                seat,
                START,
                labels=config.learners[name].labels,
                payoff_format=config.payoff_format,
                spacing=config.spacing,
            )
            reply_tokens(tokenizer, chat.prompt(parts), parts.labels)
