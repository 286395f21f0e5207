"""Tokenizers made in a moment: bytes and a few special tokens, with any chat template."""

from collections.abc import Sequence

from text.family_templates import BOS, EOS, FAMILIES, SPECIAL
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast


def byte_tokenizer(
    special: Sequence[str],
    template: str | dict[str, str] | None,
    *,
    bos: str | None = None,
    eos: str | None = None,
    added: Sequence[str] = (),
    normalizer: normalizers.Normalizer | None = None,
    normalized: bool = False,
) -> PreTrainedTokenizerFast:
    """A byte-level tokenizer.

    Args:
        special: its special tokens.
        template: its chat template.
        bos: the token that begins a text.
        eos: the token that ends one.
        added: added tokens that are not special.
        normalizer: what is done to texts first.
        normalized: whether special tokens are looked for behind it.
    """
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    backend = Tokenizer(models.BPE({letter: i for i, letter in enumerate(alphabet)}, []))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    if normalizer is not None:
        backend.normalizer = normalizer
    backend.add_special_tokens([AddedToken(token, normalized=normalized, special=True) for token in special])
    backend.add_tokens([AddedToken(token, normalized=False) for token in added])
    options = {name: value for name, value in (("bos_token", bos), ("eos_token", eos)) if value is not None}
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        extra_special_tokens=[token for token in special if token not in (bos, eos)],
        chat_template=template,
        **options,
    )


def family(name: str) -> PreTrainedTokenizerFast:
    """A tokenizer in the manner of a family."""
    return byte_tokenizer(SPECIAL[name], FAMILIES[name], bos=BOS.get(name), eos=EOS[name])
