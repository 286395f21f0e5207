"""coplay: train and audit language-model agents among co-players that learn."""

__version__ = "0.1.0"
