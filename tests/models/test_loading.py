"""Loading: what is there is loaded by one path, what is not is said in one line."""

import json
import resource
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from small_models import FAMILIES, small_tokenizer
from transformers import AutoModelForCausalLM, Qwen3_5TextConfig

from coplay.errors import UsageError
from coplay.models.known import TINY
from coplay.models.labels import reply_tokens
from coplay.models.loading import load_model, model_path
from coplay.models.talking import model_chat
from coplay.models.threads import available_threads
from coplay.text.chat import ChatFormat, PromptParts

PARTS = PromptParts("The rules.", "", "The state.", "Choose.", ("C", "D"))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_directory_loads_frozen_and_tells_its_chat_format(checkpoints: dict[str, Path], family: str) -> None:
    loaded = load_model(str(checkpoints[family]), device="cpu")
    assert loaded.chat.format is ChatFormat.TEMPLATE
    assert not loaded.model.training
    assert not any(parameter.requires_grad for parameter in loaded.model.parameters())
    assert loaded.model.dtype == torch.float32
    assert load_model(str(checkpoints[family]), device="cpu", chat=ChatFormat.GEMMA).chat.format is ChatFormat.GEMMA


@pytest.mark.parametrize("family", FAMILIES)
def test_capped_attention_is_computed_by_code_that_has_the_cap(checkpoints: dict[str, Path], family: str) -> None:
    config = load_model(str(checkpoints[family]), device="cpu").model.config
    if getattr(config, "attn_logit_softcapping", None) is not None:
        assert config._attn_implementation == "eager"
    assert (config._attn_implementation == "eager") == (family == "gemma2")


def test_results_are_handed_over_by_names_whatever_the_config_says(
    checkpoints: dict[str, Path], tmp_path: Path
) -> None:
    path = shutil.copytree(checkpoints["qwen2"], tmp_path / "model")
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps({**config, "return_dict": False}))
    ids = torch.tensor([[5, 6, 7]])
    logits, plain = (
        load_model(str(one), device="cpu").model(input_ids=ids).logits for one in (path, checkpoints["qwen2"])
    )
    assert torch.equal(logits, plain)


def test_the_embedded_model_takes_the_same_path() -> None:
    loaded = load_model(TINY, device="cpu")
    assert loaded.name == TINY
    assert loaded.chat.format is ChatFormat.GEMMA
    assert reply_tokens(loaded.tokenizer, "<start_of_turn>model\n", ["C", "D"])


# --- What is not there ------------------------------------------------------------------------------------------------------------


def refused(name: Any, match: str) -> None:
    for load in (lambda: load_model(str(name), device="cpu"), lambda: model_chat(str(name), None)):
        with pytest.raises(UsageError, match=match) as caught:
            load()
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["/no/such/place", "./nowhere", "~/nowhere/at/all", "tinny", ""])
def test_a_missing_path_is_said_to_be_missing(name: str) -> None:
    refused(name, "there is no model at|without config.json")


def test_a_directory_without_config_is_no_model(tmp_path: Path) -> None:
    refused(tmp_path, "without config.json")


def test_a_hub_id_is_left_to_the_hub() -> None:
    assert model_path("google/gemma-2-2b-it") == "google/gemma-2-2b-it"


def copy(source: Path, to: Path, *, without: str) -> Path:
    shutil.copytree(source, to)
    (to / without).unlink(missing_ok=True)
    return to


def test_weights_come_from_safetensors_only(checkpoints: dict[str, Path], tmp_path: Path) -> None:
    directory = copy(checkpoints["llama"], tmp_path / "pickled", without="model.safetensors")
    state = load_model(str(checkpoints["llama"]), device="cpu").model.state_dict()
    torch.save(state, directory / "pytorch_model.bin")
    with pytest.raises(UsageError, match="could not be loaded"):
        load_model(str(directory), device="cpu")


def test_damaged_or_missing_weights_are_one_line(checkpoints: dict[str, Path], tmp_path: Path) -> None:
    missing = copy(checkpoints["llama"], tmp_path / "missing", without="model.safetensors")
    with pytest.raises(UsageError, match="could not be loaded"):
        load_model(str(missing), device="cpu")
    (missing / "model.safetensors").write_bytes(b"torn")
    with pytest.raises(UsageError, match="could not be loaded"):
        load_model(str(missing), device="cpu")


def test_a_missing_tokenizer_is_one_line(checkpoints: dict[str, Path], tmp_path: Path) -> None:
    directory = copy(checkpoints["llama"], tmp_path / "model", without="tokenizer.json")
    refused(directory, "could not be loaded")


@pytest.mark.parametrize("text", ["{", "[]", '{"model_type": "nonesuch"}'])
def test_a_damaged_config_is_one_line(checkpoints: dict[str, Path], tmp_path: Path, text: str) -> None:
    directory = copy(checkpoints["llama"], tmp_path / "model", without="config.json")
    (directory / "config.json").write_text(text)
    with pytest.raises(UsageError, match="could not be loaded"):
        load_model(str(directory), device="cpu")


def changed(source: Path, to: Path, **settings: Any) -> Path:
    """A copy of a model whose config has other settings."""
    directory = copy(source, to, without="generation_config.json")
    config = json.loads((directory / "config.json").read_text())
    (directory / "config.json").write_text(json.dumps(config | settings))
    return directory


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 100_000, "{" + '"a": [' * 70 + "]" * 70 + "}", "5", "\udcff"]
)
def test_a_config_nested_too_deeply_or_no_object_is_one_line(
    checkpoints: dict[str, Path], tmp_path: Path, text: str
) -> None:
    directory = copy(checkpoints["llama"], tmp_path / "model", without="config.json")
    (directory / "config.json").write_bytes(text.encode("utf-8", "surrogatepass"))
    refused_once(directory, "could not be loaded")


HUGE = 10**12

UNLIKELY: dict[str, tuple[dict[str, object], str]] = {
    "a huge vocabulary": ({"vocab_size": HUGE}, "vocab_size is 1,000,000,000,000"),
    "a large vocabulary": ({"vocab_size": 10**9}, r"embed_tokens.weight \[328, 32\] instead of \[1000000000, 32\]"),
    "huge layers": ({"hidden_size": 10**8}, "of another shape"),
    "many layers": (
        {"num_hidden_layers": HUGE},
        "num_hidden_layers is 1,000,000,000,000, but the files have 27 tensors",
    ),
    "more layers": (
        {"num_hidden_layers": 3, "layer_types": None},
        "missing: 12, e.g. model.layers.2.input_layernorm.weight",
    ),
    "fewer layers": ({"num_hidden_layers": 1, "layer_types": None}, "not part of the model: 12, e.g. model.layers.1"),
    "words": ({"hidden_size": "many"}, "could not be loaded"),
    "a list": ({"num_attention_heads": [4]}, "could not be loaded"),
    "a negative number": ({"vocab_size": -5}, "could not be loaded"),
    "nothing": ({"num_attention_heads": 0}, "could not be loaded"),
    "another number type": ({"dtype": "float31"}, "could not be loaded"),
    "another model": ({"model_type": "gpt2"}, "could not be loaded"),
    "a deep setting": ({"rope_parameters": {"x": {"n": HUGE}}}, "rope_parameters.x.n is 1,000,000,000,000"),
}


@pytest.mark.parametrize("case", UNLIKELY)
def test_a_config_that_does_not_fit_its_tensors_is_refused_before_memory_is_taken(
    checkpoints: dict[str, Path], tmp_path: Path, case: str
) -> None:
    settings, match = UNLIKELY[case]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    refused_once(changed(checkpoints["qwen2"], tmp_path / "model", **settings), match)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < before + 200_000  # kB


def refused_once(directory: Path, match: str) -> None:
    """Loading the weights is refused in one line that names the model."""
    with pytest.raises(UsageError, match=match) as caught:
        load_model(str(directory), device="cpu")
    assert "\n" not in str(caught.value) and str(caught.value).startswith(f"model: {directory} could not be loaded")


@pytest.mark.parametrize("family", ["llama", "llama_grouped", "gemma2", "qwen3"])
def test_tensors_that_are_missing_too_many_misshapen_or_no_numbers_are_named(
    checkpoints: dict[str, Path], tmp_path: Path, family: str
) -> None:
    directory = copy(checkpoints[family], tmp_path / "model", without="generation_config.json")
    file = directory / "model.safetensors"
    whole = load_file(file)
    layer = "model.layers.1.self_attn.q_proj.weight"

    def with_tensors(tensors: dict[str, torch.Tensor], match: str) -> None:
        save_file(tensors, file, {"format": "pt"})
        refused_once(directory, match)

    with_tensors({k: v for k, v in whole.items() if k != layer}, f"tensors missing: 1, e.g. {layer}")
    with_tensors({k: v for k, v in whole.items() if k != "model.embed_tokens.weight"}, "model.embed_tokens.weight")
    with_tensors({k: v for k, v in whole.items() if "layers.0" not in k}, "missing: .*e.g. model.layers.0.*, .*, ")
    with_tensors({**whole, "v_head.weight": torch.ones(3)}, "not part of the model: 1, e.g. v_head.weight")
    with_tensors({**whole, layer: whole[layer][:-1].contiguous()}, rf"{layer} \[31, 32\] instead of \[32, 32\]")
    with_tensors({**whole, layer: whole[layer].reshape(16, -1).contiguous()}, f"of another shape: 1, e.g. {layer}")
    with_tensors(
        {**whole, layer: whole[layer].int()}, f"of whole numbers, where a model has fractions: 1, e.g. {layer}"
    )
    for odd in (float("nan"), float("inf"), -float("inf")):
        spoilt = whole[layer].clone()
        spoilt[3, 4] = odd
        with_tensors({**whole, layer: spoilt}, f"with NaN or infinite numbers: 1, e.g. {layer}")
    save_file(whole | {layer: whole[layer].clone().fill_(3e37)}, file, {"format": "pt"})
    load_model(str(directory), device="cpu")  # large, and finite


def test_weights_that_are_drawn_at_random_are_refused(
    checkpoints: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = torch.get_rng_state()
    load_model(str(checkpoints["llama_grouped"]), device="cpu")
    assert torch.equal(before, torch.get_rng_state())
    load = AutoModelForCausalLM.from_pretrained
    drawn: list[float] = []

    def drawing(*args: Any, **options: Any) -> Any:
        drawn.append(float(torch.rand(1)))
        return load(*args, **options)

    monkeypatch.setattr(AutoModelForCausalLM, "from_pretrained", drawing)
    load_model(
        str(checkpoints["llama"]), device="cpu"
    )  # as for a buffer that is filled afterwards: nothing of it is left
    assert len(drawn) == 2

    def filling(*args: Any, **options: Any) -> Any:
        found = drawing(*args, **options)  # as for a tensor that transformers leaves out of its list of missing ones
        model = found[0] if isinstance(found, tuple) else found
        model.model.norm.weight.data.fill_(drawn[-1])
        return found

    monkeypatch.setattr(AutoModelForCausalLM, "from_pretrained", filling)
    refused_once(checkpoints["llama"], "drawn at random by transformers")


def test_a_model_that_draws_numbers_while_it_is_loaded_is_loaded(tmp_path: Path) -> None:
    tokenizer = small_tokenizer("qwen3")
    sizes = {
        "hidden_size": 32,
        "intermediate_size": 40,
        "num_hidden_layers": 4,
        "head_dim": 8,
        "num_attention_heads": 4,
    }
    linear = {
        "linear_num_value_heads": 4,
        "linear_num_key_heads": 2,
        "linear_key_head_dim": 8,
        "linear_value_head_dim": 8,
    }
    config = Qwen3_5TextConfig(**sizes, **linear, num_key_value_heads=2, vocab_size=len(tokenizer))
    AutoModelForCausalLM.from_config(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    saved = load_file(tmp_path / "model.safetensors")
    found = load_model(str(tmp_path), device="cpu").model.state_dict()
    assert all(torch.equal(found[name], tensor) for name, tensor in saved.items())


def test_weights_in_several_files_are_those_that_the_index_names(checkpoints: dict[str, Path], tmp_path: Path) -> None:
    directory = copy(checkpoints["llama"], tmp_path / "model", without="generation_config.json")
    whole = load_file(directory / "model.safetensors")
    (directory / "model.safetensors").unlink()
    names = sorted(whole)
    parts = {"a.safetensors": names[::2], "b.safetensors": names[1::2]}
    for part, own in parts.items():
        save_file({name: whole[name] for name in own}, directory / part, {"format": "pt"})
    index = directory / "model.safetensors.index.json"
    weight_map = {name: part for part, own in parts.items() for name in own}
    index.write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))
    again = load_model(str(directory), device="cpu").model.state_dict()
    assert all(torch.equal(again[name], tensor) for name, tensor in whole.items())
    index.write_text(json.dumps({"metadata": {}, "weight_map": dict.fromkeys(names, "../model.bin")}))
    refused_once(directory, "weight_map must name the safetensors files beside it")
    index.write_text("5")
    refused_once(directory, "should hold a JSON object")


def test_code_of_a_model_directory_is_never_run(checkpoints: dict[str, Path], tmp_path: Path) -> None:
    code = {"AutoConfig": "own.Config", "AutoModelForCausalLM": "own.Model", "AutoTokenizer": ["own.Words", None]}
    directory = changed(checkpoints["llama"], tmp_path / "model", auto_map=code)
    (directory / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    load_model(str(directory), device="cpu")
    refused_once(changed(directory, tmp_path / "other", model_type="own"), "could not be loaded")
    assert not (tmp_path / "ran").exists()


def test_an_adapter_beside_a_model_is_refused(checkpoints: dict[str, Path], tmp_path: Path) -> None:
    directory = copy(checkpoints["llama"], tmp_path / "model", without="generation_config.json")
    (directory / "adapter_config.json").write_text("{}")
    refused_once(directory, "holds an adapter_config.json beside the model")


@pytest.mark.parametrize("file", ["tokenizer.json", "tokenizer_config.json"])
@pytest.mark.parametrize(
    "text", ["", "5", "{}", "[" * 100_000, '{"version": "1.0"', '{"model": {"type": "BPE", "vocab": 5}}']
)
def test_a_damaged_tokenizer_is_one_line(checkpoints: dict[str, Path], tmp_path: Path, file: str, text: str) -> None:
    directory = copy(checkpoints["llama"], tmp_path / "model", without=file)
    (directory / file).write_text(text)
    if file == "tokenizer_config.json" and text in (
        "{}",
        '{"model": {"type": "BPE", "vocab": 5}}',
    ):  # it may say nothing
        load_model(str(directory), device="cpu")
        return
    with pytest.raises(UsageError, match=r"could not be loaded|no chat template") as caught:
        load_model(str(directory), device="cpu")
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 600


@pytest.mark.parametrize(("said", "threads"), [("1", 1), ("1,2", 1), ("999", 3), ("0", 3), ("many", 3), ("", 3)])
def test_no_more_threads_are_used_than_the_environment_says(
    said: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0, 1, 2})
    monkeypatch.setenv("OMP_NUM_THREADS", said)
    assert available_threads() == threads
