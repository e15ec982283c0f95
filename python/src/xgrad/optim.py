"""Optimizers: optimizer = xgrad.optim.AdamW(model.parameters(), lr=1e-3), then optimizer.step() after each backward()."""

from xgrad._core import SGD, Adagrad, Adam, AdamW, Lion, Optimizer, RMSprop

__all__ = ["SGD", "Adagrad", "Adam", "AdamW", "Lion", "Optimizer", "RMSprop"]
