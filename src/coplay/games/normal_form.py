"""Games in normal form, repeated: in every round all seats choose one of a few actions at once. Any number of seats."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import product
from typing import TypeVar

from coplay.errors import UsageError, suggestion
from coplay.games.base import Game
from coplay.games.choice_prompts import ConstantParts, PayoffFormat, Spacing, write_prompt
from coplay.games.memory import START, Joint, Observation, own_view
from coplay.games.records import Action, Outcome, Phase, Round
from coplay.text.chat import PromptParts

ACTION = "action"
"""The only phase."""

ValueT = TypeVar("ValueT")


class NormalFormGame(Game):
    """A simultaneous choice of one action a seat, paid by the joint action.

    A seat whose reply is illegal gets ``null_payoff``, and the round is void for the others (ShapeLLM, appendix A.1, for any number of seats).
    """

    actions: Mapping[str, tuple[str, ...]]
    """Each seat's actions by name; the first one counts as cooperative."""
    labels: Mapping[str, tuple[str, ...]]
    """Each seat's default text label for its own actions."""
    null_payoff: float
    """What a seat gets for an illegal reply."""
    one_token = True
    payoff_rule: Callable[[Mapping[str, str]], str] | None = None
    """For many joint actions: writes the payoffs of a prompt in words, from the label of each action; None to list them for every joint action, however many."""

    @abstractmethod
    def joint_payoffs(self, joint: Joint) -> tuple[float, ...]:
        """The payoff of every seat after a joint action, both in the order of seats."""

    # ------------------------------------------------------------------ rules

    @cached_property
    def _phase(self) -> Phase:
        return Phase(ACTION, tuple(self.seats))

    @cached_property
    def _paid(self) -> dict[Joint, dict[str, float | None]]:
        return {}

    def next_phase(self, now: Round) -> Phase | None:
        """Everybody acts, once."""
        return None if now.acts else self._phase

    def payoffs(self, now: Round) -> dict[str, float | None]:
        """The joint action's; see the class for illegal replies."""
        joint = tuple(act.action for act in now.acts)
        paid = self._paid.get(joint)  # type: ignore[arg-type]
        if paid is None:
            if None in joint:
                paid = {a.seat: self.null_payoff if a.action is None else None for a in now.acts}
            else:
                paid = dict(zip(self.seats, self.joint_payoffs(joint), strict=True))  # type: ignore[arg-type]
            self._paid[joint] = paid  # type: ignore[index]
        return paid

    def outcome(self, one: Round) -> Outcome:
        """The joint action; a round with an illegal reply is void."""
        joint = tuple(act.action for act in one.acts)
        found = self._outcomes.get(joint)  # type: ignore[arg-type]
        if found is None:
            found = Outcome(joint, parsed=None not in joint, void=None in joint)  # type: ignore[arg-type]
            self._outcomes[joint] = found  # type: ignore[index]
        return found

    @cached_property
    def constant_parts(self) -> dict[tuple[str, tuple[str, ...] | None, PayoffFormat, Spacing], ConstantParts]:
        """What prompts written so far have in common, by seat, labels, format and spacing; see :func:`coplay.games.choice_prompts.write_prompt`."""
        return {}

    @cached_property
    def _outcomes(self) -> dict[Joint, Outcome]:
        return {}

    def conducts(self, seat: str) -> tuple[str, ...]:
        """The seat's actions."""
        return self.actions[seat]

    # ------------------------------------------------------------------ names

    @property
    def states(self) -> list[Joint]:
        """All joint actions, in the order of seats."""
        return list(product(*(self.actions[seat] for seat in self.seats)))

    def initial(self, seat: str, conduct: str) -> str:
        """The action's label."""
        return self.labels[seat][self.actions[seat].index(conduct)]

    def label(self, seat: str, action: Action) -> str:
        """The action's label."""
        return self.initial(seat, str(action))

    def action_named(self, seat: str, word: str) -> str:
        """The action of ``seat`` that ``word`` names, either by name or by label; raises UsageError."""
        if word in self.actions[seat]:
            return word
        if word in self.labels[seat]:
            return self.actions[seat][self.labels[seat].index(word)]
        known = [*self.labels[seat], *self.actions[seat]]
        raise UsageError(
            f"{word!r} is not an action of seat {seat!r} in game {self.name!r}.{suggestion(word, known)}"
            f" Known: {', '.join(known)}."
        )

    @property
    def is_symmetric(self) -> bool:
        """Whether any two seats could be swapped without anyone noticing."""
        first = self.seats[0]
        if any(self.actions[seat] != self.actions[first] for seat in self.seats):
            return False
        swaps = [(i, i + 1) for i in range(len(self.seats) - 1)]
        return all(
            _swapped(self.joint_payoffs(joint), a, b) == self.joint_payoffs(_swapped(joint, a, b))
            for joint in self.states
            for a, b in swaps
        )

    # ------------------------------------------------------------------ words

    def prompt_parts(
        self,
        seat: str,
        observation: Observation,
        *,
        labels: Sequence[str] | None = None,
        payoff_format: PayoffFormat = PayoffFormat.LIST,
        spacing: Spacing = Spacing.PAPER,
    ) -> PromptParts:
        """What a seat reads that replies with one label; see :func:`coplay.games.choice_prompts.write_prompt`."""
        return write_prompt(self, seat, observation, labels=labels, payoff_format=payoff_format, spacing=spacing)

    def rules(self, seat: str) -> str:
        """Labels and payoffs, in the words of the prompts for one-token replies."""
        return self.prompt_parts(seat, START).rules

    def question(self, now: Round, phase: Phase, seat: str) -> str:
        """An action's label."""
        return self.prompt_parts(seat, START).instruction

    def recap(self, last: Round, seat: str, *, dated: bool = False) -> str:
        """What everybody played, in the words of the prompts for one-token replies."""
        outcome = self.outcome(last)
        if outcome.void:
            return "The previous round did not count: a reply in it was no action."
        own = own_view(self.seats.index(seat), outcome.conduct)
        told = self.prompt_parts(seat, Observation(last=own)).state.removeprefix("<STATE>")
        return f"After round {last.number + 1} you were told: {told}" if dated else told


def _swapped(values: Sequence[ValueT], a: int, b: int) -> tuple[ValueT, ...]:
    found = list(values)
    found[a], found[b] = found[b], found[a]
    return tuple(found)
