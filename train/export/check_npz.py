"""Recomputes xgrad's results for a few examples, forward and backward, with NumPy only: CHECK.py [WEIGHTS.npz].

Reads WEIGHTS.npz and WEIGHTS.reference.npz; by default, the files with the name of this one. Computes logits, loss and the
gradient of every parameter in float64, and prints the worst difference of each kind. Exits with 1 if a difference is larger
than rounding errors.
"""

import math
import pathlib
import sys
import tomllib
import zipfile

import numpy as np

W, G = {}, {}  # weights by name, and their gradients
IGNORE = -100


def collect(name, gradient):
    G[name] = G.get(name, 0) + gradient.reshape(-1, *W[name].shape).sum(0)


# Each layer returns y and a function from dy to dx, which also collects the gradients of its weights.


def chain(x, *layers):
    backs = []
    for layer in layers:
        x, back = layer(x)
        backs.append(back)

    def backward(dy):
        for back in reversed(backs):
            dy = back(dy)
        return dy

    return x, backward


def linear(name, weight="weight", bias="bias", dot="."):
    weight, bias = name + dot + weight, name + dot + bias

    def forward(x):
        def backward(dy):
            collect(weight, dy.reshape(-1, dy.shape[-1]).T @ x.reshape(-1, x.shape[-1]))
            if bias in W:
                collect(bias, dy)
            return dy @ W[weight]

        return x @ W[weight].T + W.get(bias, 0), backward

    return forward


def norm(name, model):
    def forward(x):
        centred = x - x.mean(-1, keepdims=True) if model["normalization"] == "layer" else x
        scale = 1 / np.sqrt((centred**2).mean(-1, keepdims=True) + model["norm_eps"])
        z = centred * scale

        def backward(dy):
            collect(name + ".weight", dy * z)
            if name + ".bias" in W:
                collect(name + ".bias", dy)
            dz = dy * W[name + ".weight"]
            dx = dz - z * (dz * z).mean(-1, keepdims=True)
            if model["normalization"] == "layer":
                dx = dx - dz.mean(-1, keepdims=True)
            return dx * scale

        return z * W[name + ".weight"] + W.get(name + ".bias", 0), backward

    return forward


def activation(kind):
    def forward(x):
        if kind == "relu":
            return np.maximum(x, 0), lambda dy: dy * (x > 0)
        if kind == "silu":
            s = 1 / (1 + np.exp(-x))
            return x * s, lambda dy: dy * s * (1 + x * (1 - s))
        if kind == "gelu":
            phi = 0.5 * (1 + np.vectorize(math.erf, otypes=[float])(x / math.sqrt(2)))
            return x * phi, lambda dy: dy * (phi + x * np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi))
        c = math.sqrt(2 / math.pi)
        t = np.tanh(c * (x + 0.044715 * x**3))
        return x / 2 * (1 + t), lambda dy: dy * ((1 + t) / 2 + x / 2 * (1 - t**2) * c * (1 + 3 * 0.044715 * x**2))

    return forward


def heads(kind, count):
    """(B, N, H d) -> (B, H, N, d), or back."""
    if kind == "split":
        return lambda x: x.reshape(*x.shape[:2], count, -1).transpose(0, 2, 1, 3)
    return lambda x: x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1)


def attend(count, mask):
    split, merge = heads("split", count), heads("merge", count)

    def forward(qkv):
        q, k, v = map(split, np.split(qkv, 3, -1))
        scale = 1 / math.sqrt(q.shape[-1])
        keep = mask[:, None, None, :]
        scores = np.where(keep, scale * q @ k.swapaxes(2, 3), -np.inf)
        top = scores.max(-1, keepdims=True)
        e = np.exp(scores - np.where(np.isfinite(top), top, 0))
        p = e / np.maximum(e.sum(-1, keepdims=True), 1e-300)

        def backward(dy):
            do = split(dy)
            dp = do @ v.swapaxes(2, 3)
            ds = scale * p * (dp - (dp * p).sum(-1, keepdims=True))
            return np.concatenate([merge(ds @ k), merge(ds.swapaxes(2, 3) @ q), merge(p.swapaxes(2, 3) @ do)], -1)

        return merge(p @ v), backward

    return forward


def residual(name, number, model, sublayer):
    order, at = model["norm"], f"{name}.norm{number}"
    inside = [norm(at, model)] if order in ("pre", "sandwich") else []
    inside += sublayer
    inside += [norm(at + "_post", model)] if order == "sandwich" else []
    after = [norm(at, model)] if order == "post" else []

    def add(x):
        y, back = chain(x, *inside)
        return x + y, lambda dy: dy + back(dy)

    return [add, *after]


def block(name, model, mask):
    attention = [linear(name + ".self_attn", "in_proj_weight", "in_proj_bias"), attend(model["heads"], mask),
                 linear(name + ".self_attn.out_proj")]
    mlp = [linear(name + ".linear1"), activation(model["activation"]), linear(name + ".linear2")]
    return [*residual(name, 1, model, attention), *residual(name, 2, model, mlp)]


def embed(model, reference):
    """Returns the input as vectors, and a function that computes the embeddings' gradients from dx."""
    token, ids = "embedding.token.weight", reference.get("ids")
    if ids is not None:
        x = W[token][ids]

        def back(dx):
            G[token] = np.zeros_like(W[token])
            np.add.at(G[token], ids, dx)
    elif "vectors" in reference:
        x, back = linear("embedding.vector")(reference["vectors"].astype(float))
    else:
        image, patch, overlap = reference["image"].astype(float), model["patch"], model["patch_overlap"]
        side, edge = patch + 2 * overlap, (overlap, overlap)
        windows = np.lib.stride_tricks.sliding_window_view(np.pad(image, ((0, 0), edge, edge, (0, 0))), (side, side), (1, 2))
        rows = np.moveaxis(windows[:, ::patch, ::patch], 3, 5)  # (B, rows, columns, side, side, C)
        x, back = linear("embedding.patch")(rows.reshape(len(image), -1, side * side * image.shape[3]))
    class_token = "embedding.class_token" in W
    if class_token:
        x = np.concatenate([np.tile(W["embedding.class_token"], (x.shape[0], 1, 1)), x], 1)

    def backward(dx):
        if class_token:
            collect("embedding.class_token", dx[:, 0])
            dx = dx[:, 1:]
        back(dx)

    return x, backward


def positions(model):
    name = "embedding.position.weight"

    def forward(x):
        n, width = x.shape[1:]
        if model["positions"] == "learned":
            def backward(dx):
                G[name] = np.zeros_like(W[name])
                G[name][:n] = dx.sum(0)
                return dx

            return x + W[name][:n], backward
        if model["positions"] == "none":
            return x, lambda dx: dx
        i = np.arange(width)
        angle = np.arange(n)[:, None] / 10000 ** ((i - i % 2) / width)
        return x + np.where(i % 2 == 0, np.sin(angle), np.cos(angle)), lambda dx: dx

    return forward


def pool(kind, mask):
    def forward(x):
        if kind == "cls":
            keep = np.zeros(x.shape[1])
            keep[0] = 1
            keep = np.tile(keep, (x.shape[0], 1))
        else:
            keep = mask / np.maximum(mask.sum(1, keepdims=True), 1)
        return np.einsum("bn,bnd->bd", keep, x), lambda dy: keep[:, :, None] * dy[:, None, :]

    return forward


def symlog(x):
    return np.sign(x) * np.log1p(np.abs(x)), lambda dy: dy / (1 + np.abs(x))


def cross_entropy(logits, targets):
    """The mean over the targets that count, and its gradient."""
    flat, targets = logits.reshape(-1, logits.shape[-1]), targets.ravel()
    rows = np.flatnonzero(targets != IGNORE)
    p = np.exp(flat - flat.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    loss = -np.log(p[rows, targets[rows]]).sum() / len(rows)
    gradient = np.zeros_like(p)
    gradient[rows] = p[rows]
    gradient[rows, targets[rows]] -= 1
    return loss, (gradient / len(rows)).reshape(logits.shape)


def distance(train, outputs, targets, valid):
    """The mean of train.loss over the numbers that count, and its gradient."""
    d = outputs - targets
    if train["loss"] == "mae":
        loss, slope = np.abs(d), np.sign(d)
    elif train["loss"] == "huber":
        delta = train["huber_delta"]
        loss = np.where(np.abs(d) <= delta, d**2 / 2, delta * (np.abs(d) - delta / 2))
        slope = np.clip(d, -delta, delta)
    else:
        loss, slope = d**2, 2 * d
    return (loss * valid).sum() / valid.sum(), slope * valid / valid.sum()


def recompute(model, train, reference):
    """Returns logits and loss, and fills G."""
    x, embedding_back = embed(model, reference)
    mask = reference.get("mask", np.ones(x.shape[:2], bool))
    if mask.shape[1] < x.shape[1]:
        mask = np.concatenate([np.ones((len(mask), 1), bool), mask], 1)  # the class token
    layers = [positions(model)]
    for i in range(model["layers"]):
        layers += block(f"encoder.layers.{i}", model, mask)
    if model["final_norm"]:
        layers.append(norm("encoder.norm", model))
    if reference["logits"].ndim == 2:
        layers.append(pool(model["pool"], mask))
    layers += [linear("head"), symlog] if model["stablemax"] else [linear("head")]
    logits, back = chain(x, *layers)
    targets = reference["targets"]
    if "valid" in reference:
        loss, dlogits = distance(train, logits, targets, reference["valid"])
    else:
        loss, dlogits = cross_entropy(logits, targets)
    embedding_back(back(dlogits))
    return logits, loss


def main():
    path = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__.removesuffix(".check.py") + ".npz")
    config = tomllib.loads(zipfile.ZipFile(path).comment.decode())
    with np.load(path) as weights:
        single = all(weights[name].dtype == np.float32 for name in weights)
        W.update({name: weights[name].astype(float) for name in weights})
    with np.load(path.with_suffix(".reference.npz")) as file:
        reference = {name: file[name] for name in file}
    logits, loss = recompute(config["model"], config["train"], reference)

    largest = max(np.abs(reference["gradient." + name]).max() for name in W)
    worst = {"logits": (np.abs(logits - reference["logits"]).max() / np.abs(logits).max(), "logits"),
             "loss": (abs(loss - reference["loss"]) / max(1, loss), "loss")}
    for name in W:
        # A gradient that is only rounding error, such as a key bias's, is compared relative to the size of the others.
        expected = reference["gradient." + name]
        scale = max(np.abs(expected).max(), 1e-3 * largest)
        off = np.abs(G[name] - expected).max() / scale
        worst["gradients"] = max(worst.get("gradients", (0, "")), (off, name))
    limit = 1e-9 if single else 1e-11
    for kind, (off, name) in worst.items():
        print(f"{kind}: {off:.1e}" + (f" ({name})" if name != kind else ""))
    bad = [kind for kind, (off, _) in worst.items() if not off <= limit]
    print(f"{len(W)} gradients of {len(reference['logits'])} examples: "
          + (f"{' and '.join(bad)} differ by more than {limit:g}" if bad else f"all within {limit:g}"))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
