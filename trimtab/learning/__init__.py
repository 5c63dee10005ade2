"""Training: a network's losses, backward pass and update, as one program (docs/training.md)."""
