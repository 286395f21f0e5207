"""Memory that passes take: counted as tensors come and go, and the same on an outline, whose tensors take none."""

import contextlib
from pathlib import Path

import pytest
import torch
from small_models import ALPHA, RANK, Bench, make_bench
from torch import nn

from coplay.models.bank import AdapterBank, SlotName
from coplay.models.generation import Generator
from coplay.models.known import Precision
from coplay.models.measured_passes import MeasuredPasses, Rows
from coplay.models.memory_meter import MemoryMeter, fused_attention
from coplay.models.outline import Outline, outline_of
from coplay.models.scoring import Engine

torch.set_num_threads(1)

KIB = 1024


def test_what_comes_and_goes_is_counted() -> None:
    known = torch.zeros(5 * KIB, dtype=torch.uint8)
    with MemoryMeter([known]) as meter:
        _ = known.view(5, KIB)  # the same numbers, seen in another way
        assert meter.alive == 0
        one = torch.zeros(3 * KIB, dtype=torch.uint8)
        two = one + 1
        assert meter.alive == 6 * KIB
        del two
        assert meter.alive == 3 * KIB
        part = one[:KIB]
        del one  # a part keeps the whole
        assert meter.alive == 3 * KIB and len(part) == KIB
        torch.zeros(KIB, dtype=torch.uint8)
    assert meter.peak == 6 * KIB


def test_the_backward_pass_is_counted() -> None:
    layer = nn.Linear(64, 64, bias=False)
    with MemoryMeter(layer.parameters()) as meter:
        layer(torch.ones(8, 64)).square().sum().backward()
    assert meter.alive == layer.weight.nbytes  # its gradient
    assert meter.peak >= layer.weight.nbytes + 2 * 8 * 64 * 4


def outline_bench(path: Path, *, recomputes: bool = False) -> MeasuredPasses:
    outline = outline_of(str(path), precision=Precision.FLOAT32)
    bank = AdapterBank(outline.model, [SlotName("row", i) for i in range(3)], rank=RANK, alpha=ALPHA)
    return MeasuredPasses(outline, bank, recomputes=recomputes)


@pytest.mark.parametrize("recomputes", [False, True])
@pytest.mark.parametrize("rows", [1, 4])
def test_an_outline_takes_what_the_model_takes(
    checkpoints: dict[str, Path], family: str, rows: int, recomputes: bool
) -> None:
    bench = make_bench(checkpoints[family])
    if recomputes:
        bench.scorer.recompute_layers()
    shape = Rows(rows, 60, 20, 9)
    prompts, tail = shape.prompts(), (1,) * 9
    known = [*bench.model.parameters(), *bench.model.buffers(), *bench.bank.parameters()]
    generator = Generator(bench.scorer, stop=())
    generator.score([0] * rows, prompts, [tail] * rows, grad=True)  # fills caches of what never changes
    with MemoryMeter(known) as meter:
        found = generator.score([0] * rows, prompts, [tail] * rows, grad=True)
        (found.logprobs_N.sum() + found.entropies_N.sum()).backward()
    measured = outline_bench(checkpoints[family], recomputes=recomputes).training(shape, text=True, critic=False)
    assert measured == pytest.approx(meter.peak, rel=0.1)


def test_long_rows_take_what_a_fused_kernel_keeps(checkpoints: dict[str, Path]) -> None:
    """Attention of long rows keeps no products; on an outline it would, if it were not asked for the kernel."""
    bench, tokens = make_bench(checkpoints["qwen2"]), 300
    prompts = [(1,) * tokens]
    known = [*bench.model.parameters(), *bench.model.buffers(), *bench.bank.parameters()]
    with MemoryMeter(known) as meter:
        bench.scorer.score([0], prompts, grad=True).hidden_RH.sum().backward()
    with pytest.MonkeyPatch.context() as patch:
        passes = outline_bench(checkpoints["qwen2"])
        measured = passes.training(Rows(1, tokens, 0, 1), text=False, critic=True)
        assert measured == pytest.approx(meter.peak, rel=0.1)
        patch.setattr("coplay.models.measured_passes.fused_attention", contextlib.nullcontext)
        assert (
            outline_bench(checkpoints["qwen2"]).training(Rows(1, tokens, 0, 1), text=False, critic=True)
            > 1.5 * measured
        )


def test_the_function_is_as_it_was_behind_the_block() -> None:
    before = nn.functional.scaled_dot_product_attention
    with pytest.raises(RuntimeError, match="inside"), fused_attention():
        raise RuntimeError("inside" if nn.functional.scaled_dot_product_attention is not before else "not replaced")
    assert nn.functional.scaled_dot_product_attention is before


def test_weights_of_an_outline_are_the_models(checkpoints: dict[str, Path], bench: Bench, family: str) -> None:
    outline = outline_of(str(checkpoints[family]), precision=Precision.FLOAT32)
    own = sum(one.nbytes for one in (*outline.model.parameters(), *outline.model.buffers()))
    assert outline.weights(four_bit=False) == (own, 0)
    frozen = sum(p.numel() for p in bench.model.parameters())
    assert outline.parameters == frozen
    four, transient = outline.weights(four_bit=True)
    assert four < own and transient > 0


def test_keys_and_values_of_a_token(checkpoints: dict[str, Path]) -> None:
    passes = outline_bench(checkpoints["qwen2"])
    config = passes.outline.model.config
    width = config.hidden_size // config.num_attention_heads
    assert passes.engine is Engine.PACKED and passes.scorer.packed is not None
    expected = 2 * config.num_hidden_layers * config.num_key_value_heads * width * 4
    assert passes.cache_bytes() == passes.scorer.packed.decoder.bytes_of_token == expected


def test_an_outline_needs_a_config_only(tmp_path: Path, checkpoints: dict[str, Path]) -> None:
    (tmp_path / "config.json").write_text((checkpoints["qwen2"] / "config.json").read_text())
    assert isinstance(outline_of(str(tmp_path), precision=Precision.AUTO), Outline)
