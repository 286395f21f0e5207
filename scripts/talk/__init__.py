"""The parts of ``build_talk.py``: demonstrations, tokenizer, training, checks, model card."""
