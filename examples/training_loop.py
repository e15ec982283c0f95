"""Training by hand, as in nanoGPT: a transformer learns to sort eight digits."""

import numpy as np
import xgrad


class Sorter(xgrad.Module):
    def __init__(self, symbols=10, length=8, width=32):
        super().__init__()
        self.token = xgrad.Embedding(symbols, width)
        self.position = xgrad.Embedding(length, width)
        self.encoder = xgrad.Encoder(width, layers=2, heads=4)
        self.head = xgrad.Linear(width, symbols)

    def __call__(self, ids):
        return self.head(self.encoder(self.token(ids) + self.position(np.arange(ids.shape[1]))))


def train(model, steps=300, seed=1):
    """Returns the loss of each step."""
    random = np.random.default_rng(seed)
    optimizer = xgrad.optim.AdamW(model.parameters(), lr=3e-3)
    losses, bar = [], xgrad.progress(range(steps))
    for _ in bar:
        ids = random.integers(0, 10, (64, 8))
        loss = xgrad.cross_entropy(model(ids), np.sort(ids))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step(clip=1.0)
        losses.append(loss.item())
        bar.show(loss=loss)
    return losses


if __name__ == "__main__":
    model = Sorter()
    print(f"loss {np.mean(train(model)[-10:]):.3f}")
    xgrad.save(model.state_dict(), "sorter.npz")
    print(model(np.array([[3, 1, 4, 1, 5, 9, 2, 6]])).argmax(-1))
