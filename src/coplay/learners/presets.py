"""Settings of the learned mediator (Learning to Mediate Equilibrium Selection in LLM Games, Table 4 and Algorithm 1).

An update takes 20 episodes: ``update="trial"`` with ``games=20`` and ``episodes=1``. The network is ``policy="network"`` with its default sizes, and
sees ``memory="window"`` with ``window=3``.
"""

from __future__ import annotations

from coplay.learners.settings import DQN, PPO

CONTROLLER = PPO(
    learning_rate=3e-4,
    gamma=0.99,
    lam=0.95,
    clip=0.2,
    entropy_initial=0.10,
    entropy_final=0.10,
    value_coef=0.5,
    value_clip=None,
    max_grad_norm=0.5,
    epochs=4,
    minibatch=64,
    gae_chain="episode",
    whiten=False,
    kl_coef=0.0,
    kl_adaptive=False,
)
"""Table 4. Algorithm 1's value loss is the squared error, coplay's is half of it: taken literally, 0.5 there is ``value_coef=1`` here."""

POLICY_GRADIENT_BANDIT = CONTROLLER.model_copy(update={"gamma": 0.0, "critic": False})
"""Algorithm 1 with gamma = 0: what an action is credited with is the payoff of its own round."""

DQN_BANDIT = DQN(learning_rate=3e-4, max_grad_norm=0.5, minibatch=64, discount=0.0)
"""Section 3.4: values of a round's payoff, learnt by replay. The paper does not say how it explores; see the defaults."""
