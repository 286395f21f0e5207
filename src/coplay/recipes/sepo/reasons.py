"""What SEPO's demonstrators say before they act (appendix H.1): a sentence that follows from strategy, action and history. The words are ours.

A sentence speaks of nothing that the game does not tell the seat; some speak of rounds before the last one, which only a memory of the
conversation shows.
"""

from __future__ import annotations

from collections.abc import Mapping

from coplay.games.base import Game
from coplay.games.records import Action, Request

Sentences = Mapping[str, Mapping[str, str]]
"""For each strategy a sentence for each situation; ``*`` stands for any other situation."""

_AT_RANDOM = "I see nothing here that I could rely on, so I choose at random this time."


def _sentence(table: Sentences, strategy: str, *situations: str) -> str:
    """The sentence of a strategy for the first of these situations that it knows; a plain one for a strategy that the table does not have."""
    name = strategy.partition(":")[0]
    known = table.get(name, {})
    found = next((known[one] for one in (*situations, "*") if one in known), None)
    return found or f"I play {name.replace('_', ' ')}, and this is what it does in this situation."


def _did(request: Request, *, own: bool = False, rounds_ago: int = 1) -> Action | None:
    """What the other seat, or the seat itself, did last in an earlier round; None if there was none."""
    acts = request.past[-rounds_ago].acts if len(request.past) >= rounds_ago else ()
    return next((act.action for act in reversed(acts) if (act.seat == request.seat) == own), None)


def _paid(request: Request) -> float:
    """What the seat got in the last round."""
    return (request.past[-1].payoffs or {}).get(request.seat) or 0.0


# ---------------------------------------------------------------------- the prisoner's dilemma

_IPD: Sentences = {
    "tit_for_tat": {
        "open": "We have no history yet, so I open with cooperation and then answer in kind.",
        "cooperate": "They cooperated in the last round, so I return the cooperation.",
        "defect": "They defected in the last round, so I answer with a defection.",
    },
    "grim_trigger": {
        "open": "We have no history yet, so I begin by trusting them until they defect.",
        "betrayed": "They defected once, and after a defection I no longer cooperate.",
        "cooperate": "They have not defected so far, so I keep cooperating with them.",
    },
    "always_defect": {
        "open": "Defecting earns more in this round whatever they choose, so I begin with it.",
        "cooperate": "They cooperated, and defecting against cooperation earns the most.",
        "defect": "They defected, and cooperating with a defector would earn nothing.",
    },
    "always_cooperate": {
        "open": "Mutual cooperation is the best result for both of us, so I begin with it.",
        "cooperate": "They cooperated, and going on together is the best result for both of us.",
        "defect": "They defected, but I keep offering cooperation, which is better for both.",
    },
    "generous_tit_for_tat": {
        "open": "We have no history yet, so I open with cooperation and hope for the same.",
        "cooperate": "They cooperated in the last round, so I return the cooperation.",
        "forgiven": "They defected in the last round, but I forgive it this time to restore trust.",
        "defect": "They defected in the last round, and this time I do not let it pass.",
    },
    "random": {"*": _AT_RANDOM},
    "uniform": {"*": _AT_RANDOM},
}


def ipd(game: Game, request: Request, strategy: str, action: Action) -> str:
    """The reason for an action in the prisoner's dilemma."""
    last = _did(request)
    betrayed = any(_did(request, rounds_ago=back) == "defect" for back in range(1, len(request.past) + 1))
    situations = ["open"] if last is None else [str(last)]
    if last == "defect" and action == "cooperate":
        situations.insert(0, "forgiven")
    if betrayed:
        situations.insert(0, "betrayed")
    return _sentence(_IPD, strategy, *situations)


# ---------------------------------------------------------------------- the auction

_AUCTION: Sentences = {
    "value_bid": {"*": "The item is worth {value} to me, and a bid of half of that leaves a fair profit."},
    "aggressive_value": {"*": "The item is worth {value} to me, so I bid the most that still leaves a profit."},
    "adaptive": {
        "low": "The item is worth {value} to me, so only a low bid can earn anything.",
        "medium": "The item is worth {value} to me and they do not bid high, so a medium bid will do.",
        "high": "The item is worth {value} to me and they have been bidding high, so I bid high too.",
    },
    "uniform": {"*": _AT_RANDOM},
}


def auction(game: Game, request: Request, strategy: str, action: Action) -> str:
    """The reason for a bid."""
    value = (game.show_deal(request.now, request.seat) or "").removeprefix("value ")
    return _sentence(_AUCTION, strategy, str(action)).format(value=value)


# ---------------------------------------------------------------------- negotiation over one issue

_NEGOTIATION: Sentences = {
    "fair": {
        "open": "An equal share is fair, and it leaves them enough to agree.",
        "deal": "We agreed in the last round, and an equal share is still fair.",
        "breakdown": "We did not agree in the last round, but an equal share is fair, so I stay with it.",
    },
    "balanced": {
        "open": "I ask for slightly more than half, which still leaves them a good share.",
        "deal": "We agreed in the last round, so I ask for slightly more than half again.",
        "breakdown": "We did not agree in the last round, but slightly more than half is modest enough.",
    },
    "concede": {
        "open": "I begin slightly above half, and give way whenever we do not agree.",
        "lower": "We did not agree in the last round, so I lower my demand to {action}.",
        "deal": "We agreed in the last round, so I see no need to change my demand of {action}.",
        "breakdown": "We did not agree in the last round, but {action} is the least that I ask for.",
    },
    "tit_for_tat_neg": {
        "open": "I open with an equal share, and then I demand whatever they demand.",
        "unknown": "I could not read what they demanded last, so I demand an equal share.",
        "*": "They demanded {theirs} in the last round, so I demand the same in this one.",
    },
    "uniform": {"*": _AT_RANDOM},
}


def negotiation(game: Game, request: Request, strategy: str, action: Action) -> str:
    """The reason for a demand."""
    own, theirs = _did(request, own=True), _did(request)
    if own is None:
        situations = ["open"]
    elif _paid(request) > 0:
        situations = ["deal"]
    else:
        situations = ["lower", "breakdown"] if action != own else ["breakdown"]
    if request.past and theirs is None:
        situations.insert(0, "unknown")
    return _sentence(_NEGOTIATION, strategy, *situations).format(action=action, theirs=theirs)


# ---------------------------------------------------------------------- negotiation over several issues

_ITEMS: Sentences = {
    "proportional": {"*": "I ask for more of what is worth more to me, and leave the rest to them."},
    "conservative": {"*": "I ask for less than my share, so that it is likely to fit with theirs."},
    "adaptive": {
        "open": "I begin with a moderate demand, and give something up if we do not agree.",
        "deal": "We agreed in the last round, so I keep the demand that we agreed on.",
        "breakdown": "We did not agree in the last round, so I give up one of what is worth least to me.",
    },
    "defensive": {
        "open": "I begin with the share of each item that its value to me stands for.",
        "*": "I ask for what their demands so far have left over on average, and no more.",
    },
    "uniform": {"*": _AT_RANDOM},
}


def items(game: Game, request: Request, strategy: str, action: Action) -> str:
    """The reason for a demand of several items."""
    own, theirs = _did(request, own=True), _did(request)
    situation = "open"
    if isinstance(own, tuple) and isinstance(theirs, tuple):
        pool = request.now.deal.pool
        fits = all(one + other <= there for one, other, there in zip(own, theirs, pool, strict=True))
        situation = "deal" if fits else "breakdown"
    return _sentence(_ITEMS, strategy, situation)


# ---------------------------------------------------------------------- Kuhn poker

_EQUILIBRIUM = {
    "K bet": "I hold K, which wins every showdown, so a bet can only gain.",
    "K pass": "I hold K, which wins every showdown, and pass to invite a bet.",
    "K call": "I hold K, which wins every showdown, so I call the bet.",
    "Q bet": "I hold Q, and a bet now and then makes my bets harder to read.",
    "Q pass": "I hold Q, and only a better card would call a bet, so I pass.",
    "Q call": "I hold Q, and I call often enough that bluffing does not pay for them.",
    "Q fold": "I hold Q, and paying every bet with it would lose more than folding now.",
    "J bet": "I hold J, which wins no showdown, so I bluff now and then, as here.",
    "J pass": "I hold J, which wins no showdown, and most of the time I do not bluff.",
    "J fold": "I hold J, which wins no showdown, so I fold to the bet.",
}

_KUHN: Sentences = {
    "nash": _EQUILIBRIUM,
    "always_pass_queen": {
        **_EQUILIBRIUM,
        "Q pass": "I hold Q, and with a middle card I take no risk, so I pass.",
        "Q fold": "I hold Q, and with a middle card I take no risk, so I fold.",
    },
    "tight_value": {
        "bet": "I hold {card}, the best card, and I bet for value with no other.",
        "call": "I hold {card}, the best card, so I pay to see the showdown.",
        "pass": "I hold {card}, which is not the best card, so I do not bet.",
        "fold": "I hold {card}, which is not the best card, so I do not pay for a showdown.",
    },
    "pot_control": {
        "bet": "I hold {card}, the best card, so this is a pot that I want to grow.",
        "K call": "I hold {card}, the best card, so I pay to see the showdown.",
        "call": "I hold {card}, which is good enough to look at the other card for a chip.",
        "pass": "I hold {card}, which is not the best card, so I keep the pot small.",
        "fold": "I hold {card}, which wins no showdown, so I give up a small pot.",
    },
    "uniform": {"*": _AT_RANDOM},
}


def kuhn(game: Game, request: Request, strategy: str, action: Action) -> str:
    """The reason for an action in a hand of Kuhn poker."""
    card = game.show_deal(request.now, request.seat) or ""
    return _sentence(_KUHN, strategy, f"{card} {action}", str(action)).format(card=card)
