"""The parts of ``build_tiny.py``: tokenizer, targets, prompts, training, checks, model card."""
