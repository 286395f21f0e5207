"""Credit reaches the tokens it belongs to; the loss is what its equation says; and self-play of a table learns what the paper's models learn."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from coplay.games.memory import START
from coplay.games.records import Episode, Occupant, Reply, Round, Turn
from coplay.games.split import ALICE, BOB, SEATS
from coplay.learners.credit import returns_to_go
from coplay.learners.group_credit import aligned_advantages, group_relative_advantages
from coplay.learners.group_gradient import count_unparsed, credited_replies, credits_of, group_loss, rewards_of
from coplay.learners.losses import k3_kl, truncated_importance
from coplay.learners.settings import GroupGradient

torch.set_num_threads(1)


def turn_of(seat: str, t: int, phase: str, name: str, *, parsed: bool = True) -> Turn:
    reply = Reply(name, name if parsed else None, tuple(map(ord, name)), (-0.5,) * len(name), prompt=(1,))
    return Turn(seat, t, phase, 0, START, reply)


def an_episode(
    index: int,
    group: int,
    payoffs: list[tuple[float | None, float | None]],
    unparsed: tuple[int, ...] = (),
    own: tuple[str, ...] = SEATS,
) -> Episode:
    """Messages in the even rounds, and an action in every one; alice's action in the rounds named is not parsed."""
    turns: dict[str, list[Turn]] = {seat: [] for seat in SEATS}
    for t in range(len(payoffs)):
        for seat in SEATS:
            if t % 2 == 0:
                turns[seat].append(turn_of(seat, t, "message", f"{index}{seat}{t}m"))
            parsed = seat != ALICE or t not in unparsed
            turns[seat].append(turn_of(seat, t, "action", f"{index}{seat}{t}", parsed=parsed))
    rounds = [Round(t, payoffs=dict(zip(SEATS, paid, strict=True))) for t, paid in enumerate(payoffs)]
    seated = {seat: Occupant(None, "x", 0, "learner" if seat in own else None) for seat in SEATS}
    return Episode(0, group, index, seated, rounds, turns=turns)


TRAINED: list[tuple[str, ...]] = [(ALICE, BOB), (ALICE,), (BOB,), ()]
"""The learner's own seats in each episode."""

EPISODES = [
    an_episode(0, 0, [(3, 3), (0, 5), (1, 1)], own=TRAINED[0]),
    an_episode(1, 0, [(5, 0), (3, 3), (0, 5)], unparsed=(1,), own=TRAINED[1]),
    an_episode(2, 7, [(1, 1), (1, 1), (5, 0)], own=TRAINED[2]),
    an_episode(3, 7, [(0, 5), (3, 3), (3, 3)], own=TRAINED[3]),
]
GROUPS = torch.tensor([0, 0, 7, 7])
UNPARSED = count_unparsed(EPISODES, SEATS)


def test_rewards_are_penalised_and_scaled() -> None:
    rewards_BST = rewards_of(EPISODES, SEATS, UNPARSED, GroupGradient(parse_error_penalty=2.0, reward_scale=5.0))
    assert rewards_BST.shape == (4, 2, 3)
    assert rewards_BST[1].tolist() == [[1.0, (3 - 2) / 5, 0.0], [0.0, 3 / 5, 1.0]]


@pytest.mark.parametrize("method", ["grpo", "sum_of_rewards", "advantage_alignment"])
def test_methods_differ_in_the_credit_alone(method: str) -> None:
    settings = GroupGradient(method=method, discount=0.8, beta=2.0, alignment_discount=0.96)  # type: ignore[arg-type]
    rewards_BST = rewards_of(EPISODES, SEATS, UNPARSED, settings)
    returns_BST = torch.stack([returns_to_go(rewards_BST[:, s], discount=0.8) for s in range(2)], 1)
    advantages_BST = group_relative_advantages(returns_BST, GROUPS)
    expected = {
        "grpo": advantages_BST,
        "sum_of_rewards": advantages_BST.sum(1, keepdim=True).expand(-1, 2, -1),
        "advantage_alignment": aligned_advantages(advantages_BST, beta=2.0, gamma=0.96),
    }
    all_parsed = torch.zeros(4, 2, 3)
    torch.testing.assert_close(credits_of(rewards_BST, all_parsed, GROUPS, settings), expected[method])
    credits_BST = credits_of(rewards_BST, UNPARSED, GROUPS, settings)
    assert (
        credits_BST[1, 0, 1] == advantages_BST[1, 0, 1]
    )  # of what could not be parsed, whatever it gave the co-player
    credits_BST[1, 0, 1] = expected[method][1, 0, 1]
    torch.testing.assert_close(credits_BST, expected[method])


def test_what_could_not_be_parsed_is_counted_by_seat_and_round() -> None:
    assert UNPARSED.nonzero().tolist() == [[1, 0, 1]]


def test_every_reply_has_the_credit_of_its_round_and_seat() -> None:
    settings = GroupGradient(method="advantage_alignment")
    credits_BST = credits_of(rewards_of(EPISODES, SEATS, UNPARSED, settings), UNPARSED, GROUPS, settings)
    found = {one.turn.reply.text: one.credit for one in credited_replies(EPISODES, SEATS, "learner", settings)}
    expected = {}
    for b, own in enumerate(TRAINED):
        for s, seat in enumerate(SEATS):
            for t in range(3) if seat in own else ():
                for name in (f"{b}{seat}{t}", *([f"{b}{seat}{t}m"] if t % 2 == 0 else [])):
                    expected[name] = pytest.approx(float(credits_BST[b, s, t]))
    assert found == expected


@pytest.mark.parametrize("method", ["grpo", "sum_of_rewards", "advantage_alignment"])
def test_a_seat_beside_the_playing_ones_has_its_own_advantage_whatever_the_method(method: str) -> None:
    """Bob as a mediator: his credit is that of GRPO, and Alice's is as if he were not there."""
    settings = GroupGradient(method=method, discount=0.5, parse_error_penalty=2.0)  # type: ignore[arg-type]
    found = {one.turn.reply.text: one.credit for one in credited_replies(EPISODES, (ALICE,), "learner", settings)}
    for seat, credit in ((ALICE, settings), (BOB, GroupGradient(discount=0.5, parse_error_penalty=2.0))):
        unparsed = count_unparsed(EPISODES, (seat,))
        alone = credits_of(rewards_of(EPISODES, (seat,), unparsed, credit), unparsed, GROUPS, credit)
        for b, episode in enumerate(EPISODES):
            for turn in episode.turns[seat] if seat in TRAINED[b] else ():
                assert found.pop(turn.reply.text) == pytest.approx(float(alone[b, 0, turn.round]))
    assert not found


def test_players_without_tokens_teach_nothing() -> None:
    episode = EPISODES[0]
    silent = {seat: [turn._replace(reply=Reply("x", "x")) for turn in own] for seat, own in episode.turns.items()}
    assert credited_replies([replace(episode, turns=silent)], SEATS, "learner", GroupGradient()) == []


tensors = st.integers(0, 10_000).map(lambda seed: torch.randn(4, 7, generator=torch.Generator().manual_seed(seed)))


@given(values=tensors)
def test_the_loss_is_its_equation(values: torch.Tensor) -> None:
    logprobs, sampled, reference = (-values[:3].abs()).double()
    credit, entropies = values[3].double(), values[0].abs().double()
    settings = GroupGradient(entropy_coef=0.3, kl_coef=0.7, importance_cap=1.5)
    total = 0.0
    for n in range(7):
        weight = min(math.exp(logprobs[n] - sampled[n]), 1.5)
        d = float(reference[n] - logprobs[n])
        total += -float(credit[n]) * weight * float(logprobs[n]) - 0.3 * float(entropies[n])
        total += 0.7 * weight * (math.exp(d) - 1 - d)
    loss = group_loss(logprobs, sampled, credit, entropies, reference, settings)
    assert float(loss) == pytest.approx(total / 7)
    without = group_loss(logprobs, sampled, credit, entropies, None, settings)
    assert float(loss - without) == pytest.approx(
        0.7 * float((truncated_importance(logprobs, sampled, cap=1.5) * k3_kl(logprobs, reference)).mean())
    )


@given(values=tensors)
def test_parts_add_up(values: torch.Tensor) -> None:
    settings = GroupGradient(entropy_coef=0.3, kl_coef=0.7)
    columns = [-values[0].abs(), -values[1].abs(), values[2], values[3].abs(), -values[2].abs()]
    whole = group_loss(*columns, settings)
    parts = [group_loss(*(column[of] for column in columns), settings, tokens=7) for of in (slice(0, 3), slice(3, 7))]
    assert float(sum(parts)) == pytest.approx(float(whole), rel=1e-4, abs=1e-5)


def test_importance_weights_carry_no_gradient() -> None:
    logprobs = torch.tensor([-1.0, -2.0], requires_grad=True)
    group_loss(
        logprobs, torch.tensor([-1.5, -1.0]), torch.tensor([2.0, -1.0]), torch.zeros(2), None, GroupGradient()
    ).backward()
    weights = [math.exp(0.5), math.exp(-1.0)]
    assert logprobs.grad is not None
    assert logprobs.grad.tolist() == pytest.approx([-2.0 * weights[0] / 2, 1.0 * weights[1] / 2])


@given(values=tensors)
def test_k3_is_never_negative_and_zero_where_policies_agree(values: torch.Tensor) -> None:
    assert float(k3_kl(values[0], values[1]).min()) >= 0
    assert float(k3_kl(values[0], values[0]).abs().max()) == 0


def test_k3_estimates_the_divergence() -> None:
    policy, reference = torch.tensor([0.5, 0.3, 0.2]), torch.tensor([0.2, 0.3, 0.5])
    expected = float((policy * (policy / reference).log()).sum())
    assert float((policy * k3_kl(policy.log(), reference.log())).sum()) == pytest.approx(expected)


def self_play(method: str, *, seed: int, updates: int = 120) -> list[float]:
    """P(cooperate) at the start and after CC, CD, DC, DD (own action first) of one table in both seats of the IPD, 3/0/5/1, ten rounds.

    Table 1's settings for the IPD: 128 games, discount and gamma 0.9, beta 0.5, entropy 0.01, rewards divided by 5. A table takes a larger
    learning rate, and groups of eight have nothing to share but the start.
    """
    settings = GroupGradient(method=method, reward_scale=5.0, entropy_coef=0.01)  # type: ignore[arg-type]
    generator, games = torch.Generator().manual_seed(seed), 128
    theta = torch.zeros(5, requires_grad=True)
    adam = torch.optim.Adam([theta], lr=0.15)
    payoffs = torch.tensor([3.0, 0.0, 5.0, 1.0])
    for _ in range(updates):
        state_BS = torch.zeros((games, 2), dtype=torch.long)
        logprobs, rewards = [], []
        for _ in range(10):
            logits_BS = theta[state_BS]
            defects_BS = (torch.rand((games, 2), generator=generator) >= torch.sigmoid(logits_BS.detach())).long()
            logprobs.append(torch.nn.functional.logsigmoid(logits_BS * (1 - 2 * defects_BS)))
            joint_BS = 2 * defects_BS + defects_BS.flip(1)
            rewards.append(payoffs[joint_BS])
            state_BS = 1 + joint_BS
        rewards_BST = torch.stack(rewards, 2) / 5.0
        credits_BST = credits_of(rewards_BST, torch.zeros_like(rewards_BST), torch.arange(games) // 8, settings)
        logprobs_N = torch.stack(logprobs, 2).flatten()
        entropies_N = torch.distributions.Bernoulli(logits=theta).entropy().mean().expand(len(logprobs_N))
        loss = group_loss(logprobs_N, logprobs_N.detach(), credits_BST.flatten(), entropies_N, None, settings)
        adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        adam.step()
    return torch.sigmoid(theta).tolist()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_table_that_plays_itself_learns_what_the_paper_says(seed: int) -> None:
    """Section 5: naive learning turns greedy; with Advantage Alignment cooperation is kept up, and defection is answered."""
    start, _, _, _, after_dd = self_play("grpo", seed=seed)
    assert max(start, after_dd) < 0.05
    start, after_cc, after_cd, _, after_dd = self_play("advantage_alignment", seed=seed)
    assert min(start, after_cc) > 0.9
    assert max(after_cd, after_dd) < 0.2
    assert min(self_play("sum_of_rewards", seed=seed)[:2]) > 0.95
