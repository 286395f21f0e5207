"""Gradient checkpointing: the same numbers from less memory, by every engine."""

from collections.abc import Callable

import pytest
import torch
from small_models import FAMILIES, Bench, game_prompts, make_bench, write_checkpoint
from small_runs import QUIET, small
from small_text_runs import small_text

from coplay.models.fused_llama import FusedLlama
from coplay.models.generation import Generator
from coplay.models.memory_meter import MemoryMeter
from coplay.models.recomputation import Recomputation, layers_of
from coplay.models.scoring import Engine, Scorer
from coplay.runs.train import train

torch.set_num_threads(1)

Loss = Callable[[Scorer], torch.Tensor]

OURS = (Engine.PACKED, Engine.TRANSFORMERS, Engine.ROWS, Engine.TOKENS)


def pass_of(bench: Bench, engine: Engine, loss: Loss, *, recomputes: bool) -> tuple[float, list[torch.Tensor], int]:
    """The loss, the adapters' gradients, and the most bytes that there were at a time."""
    scorer = Scorer(bench.model, bench.bank, engine)
    if recomputes:
        scorer.recompute_layers()
    for parameter in bench.bank.parameters():
        parameter.grad = None
    known = [*bench.model.parameters(), *bench.model.buffers(), *bench.bank.parameters()]
    with MemoryMeter(known) as meter:
        value = loss(scorer)
        with bench.bank.route([2]):  # the backward pass runs while other rows are routed
            value.backward()
    gradients = [p.grad.clone() for p in bench.bank.parameters() if p.grad is not None]
    return float(value.detach()), gradients, meter.peak


def ends(bench: Bench, family: str) -> Loss:
    prompts = game_prompts(bench.loaded, family)
    slots = [0, 1] * len(prompts)
    return lambda scorer: scorer.score(slots[: len(prompts)], prompts, grad=True).logits_RV.square().mean()


def replies(bench: Bench, family: str) -> Loss:
    prompts = game_prompts(bench.loaded, family)
    tails = [(5, 6, 7, 8 + i) for i in range(len(prompts))]
    slots = [i % 2 for i in range(len(prompts))]

    def loss(scorer: Scorer) -> torch.Tensor:
        found = Generator(scorer, stop=()).score(slots, prompts, tails, grad=True)
        return found.logprobs_N.mean() + found.entropies_N.mean()

    return loss


@pytest.mark.parametrize("kind", [ends, replies])
@pytest.mark.parametrize("engine", OURS)
def test_gradients_are_the_same_from_less_memory(
    checkpoints: dict[str, object], family: str, engine: Engine, kind: Callable[[Bench, str], Loss]
) -> None:
    if engine is Engine.PACKED and family == "llama":
        pytest.skip("small plain Llamas are fused")
    kept_bench, again_bench = make_bench(checkpoints[family]), make_bench(checkpoints[family])  # type: ignore[arg-type]
    kept = pass_of(kept_bench, engine, kind(kept_bench, family), recomputes=False)
    again = pass_of(again_bench, engine, kind(again_bench, family), recomputes=True)
    assert again[0] == pytest.approx(kept[0], rel=1e-6)
    assert len(kept[1]) == len(again[1]) > 0
    for one, other in zip(kept[1], again[1], strict=True):
        torch.testing.assert_close(other, one, rtol=1e-5, atol=1e-5 * max(1.0, float(one.abs().max())))
    if (engine, kind) != (
        Engine.TRANSFORMERS,
        ends,
    ):  # it repeats the beginning for each row, which two layers do not make up for
        assert again[2] < 0.9 * kept[2]


def test_without_the_route_of_the_first_pass_gradients_would_differ(checkpoints: dict[str, object]) -> None:
    """The check above can fail: layers that are computed again under other adapters give other gradients."""
    bench = make_bench(checkpoints["qwen2"])  # type: ignore[arg-type]
    expected = pass_of(bench, Engine.PACKED, ends(bench, "qwen2"), recomputes=False)[1]

    class Forgetful(Recomputation):
        def __call__(self, layer, *inputs, **named):  # type: ignore[no-untyped-def]
            return torch.utils.checkpoint.checkpoint(layer, *inputs, use_reentrant=False)

    scorer = Scorer(bench.model, bench.bank, Engine.PACKED)
    assert scorer.packed is not None
    scorer.packed.decoder.run_layer = Forgetful(bench.bank)
    for parameter in bench.bank.parameters():
        parameter.grad = None
    value = ends(bench, "qwen2")(scorer)
    with bench.bank.route([2]):
        value.backward()
    found = [p.grad for p in bench.bank.parameters() if p.grad is not None]
    assert any(not torch.allclose(one, other, rtol=1e-3) for one, other in zip(found, expected, strict=True))


def test_a_layer_that_writes_to_a_cache_is_not_computed_twice(llama: Bench) -> None:
    from transformers import DynamicCache

    Recomputation(llama.bank).wrap(llama.model)
    ids_1L = torch.tensor([[5, 6, 7]])
    cache = DynamicCache()
    with llama.bank.route([0]):
        llama.model(input_ids=ids_1L, past_key_values=cache, use_cache=True).logits.sum().backward()
    assert cache.get_seq_length() == 3


def test_layers_of_models_that_name_none_are_those_of_the_longest_list(llama: Bench) -> None:
    assert len(layers_of(llama.model)) == llama.model.config.num_hidden_layers


def test_fused_models_are_as_they_were(checkpoints: dict[str, object]) -> None:
    bench = make_bench(checkpoints["llama"])  # type: ignore[arg-type]
    bench.scorer.recompute_layers()
    assert isinstance(bench.scorer.decoder, FusedLlama)


@pytest.mark.parametrize("kind", ["one token", "text"])
@pytest.mark.parametrize("family", [family for family in FAMILIES if family in ("qwen2", "gemma2")])
def test_runs_learn_the_same(kind: str, family: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    parent = tmp_path_factory.mktemp("runs")
    model = str(write_checkpoint(parent / "model", family, max_position_embeddings=4096))
    made = [f"model={model}", "trials=1", "workers=1"]
    texts = []
    for again in ("false", "true"):
        more = [*made, f"gradient_checkpointing={again}"]
        config = (
            small_text("ipd-ab", *more, "learner.max_tokens=6") if kind == "text" else small("language_model", *more)
        )
        run = train(config, parent / again, progress=QUIET)
        texts.append((run.path / "metrics.jsonl").read_text(encoding="utf-8"))
    assert texts[0] == texts[1]
