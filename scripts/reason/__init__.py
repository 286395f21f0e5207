"""The parts of ``build_reason.py``: demonstrations, tokenizer, batches, checks, model card."""
