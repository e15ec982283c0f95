"""The model of xgrad built from PyTorch's own modules, with the same parameter names.

Runs in training mode with dropout 0, so that PyTorch takes its plain path and not its fused one for inference.
"""

import torch
from torch import nn
from torch.nn import functional as F

ACTIVATIONS = {"relu": F.relu, "gelu": F.gelu, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh")}


def patchify(x, side):
    """(B, H, W, C) -> (B, patches, side * side * C), row-major throughout."""
    b, h, w, c = x.shape
    x = x.reshape(b, h // side, side, w // side, side, c).transpose(2, 3)
    return x.reshape(b, (h // side) * (w // side), side * side * c)


class Embedding(nn.Module):
    """Tokens or patches, the class token in front, learned positions."""

    def __init__(self, width, length, vocabulary=0, patch=0, channels=0, class_token=False):
        super().__init__()
        self.side = patch
        if vocabulary:
            self.token = nn.Embedding(vocabulary, width)
        else:
            self.patch = nn.Linear(patch * patch * channels, width)
        if class_token:
            self.class_token = nn.Parameter(torch.zeros(width))
        self.position = nn.Embedding(length + class_token, width)

    def forward(self, x):
        x = self.patch(patchify(x, self.side)) if self.side else self.token(x)
        if hasattr(self, "class_token"):
            x = torch.cat([self.class_token.expand(x.shape[0], 1, -1), x], 1)
        return x + self.position.weight[: x.shape[1]]


class Model(nn.Module):
    """embedding, encoder, head; pool is "none" (a row of logits a token), "cls" or "mean"."""

    def __init__(self, *, width, heads, layers, feedforward, classes, norm="pre", activation="gelu", final_norm=True,
                 pool="none", eps=1e-5, **embedding):
        super().__init__()
        self.pool = pool
        self.embedding = Embedding(width, class_token=pool == "cls", **embedding)
        layer = nn.TransformerEncoderLayer(width, heads, feedforward, dropout=0.0, activation=ACTIVATIONS[activation],
                                           layer_norm_eps=eps, batch_first=True, norm_first=norm == "pre")
        layer.self_attn.register_parameter("in_proj_bias", None)
        last = nn.LayerNorm(width, eps) if final_norm else None
        self.encoder = nn.TransformerEncoder(layer, layers, last, enable_nested_tensor=False)
        self.head = nn.Linear(width, classes)

    def forward(self, x, mask=None):
        """mask (B, N): true for a token, false for padding."""
        if mask is not None and self.pool == "cls":
            mask = torch.cat([torch.ones_like(mask[:, :1]), mask], 1)
        x = self.encoder(self.embedding(x), src_key_padding_mask=None if mask is None else ~mask)
        if self.pool == "cls":
            x = x[:, 0]
        elif self.pool == "mean":
            kept = torch.ones(x.shape[:2]) if mask is None else mask
            x = (x * kept[..., None]).sum(1) / kept.sum(1, keepdim=True)
        return self.head(x)


class Tokens(nn.Module):
    """Tokens and learned positions."""

    def __init__(self, vocabulary, length, width):
        super().__init__()
        self.token = nn.Embedding(vocabulary, width)
        self.position = nn.Embedding(length, width)

    def forward(self, ids):
        return self.token(ids) + self.position.weight[: ids.shape[1]]


class EncoderDecoder(nn.Module):
    """embedding, encoder, output_embedding, decoder, head. The decoder reads the targets shifted by one place; -100 is padding."""

    def __init__(self, *, width, heads, layers, feedforward, classes, vocabulary, length, outputs, norm="pre"):
        super().__init__()
        self.classes = classes
        self.embedding = Tokens(vocabulary, length, width)
        transformer = nn.Transformer(width, heads, layers, layers, feedforward, dropout=0.0, activation=F.gelu,
                                     batch_first=True, norm_first=norm == "pre")
        transformer.encoder.enable_nested_tensor = False
        self.output_embedding = Tokens(classes + 1, outputs, width)
        self.encoder, self.decoder = transformer.encoder, transformer.decoder
        self.head = nn.Linear(width, classes)

    def forward(self, ids, mask, targets):
        before = torch.cat([torch.full_like(targets[:, :1], self.classes), targets[:, :-1].clamp(min=0)], 1)
        memory = self.encoder(self.embedding(ids), src_key_padding_mask=~mask)
        causal = nn.Transformer.generate_square_subsequent_mask(before.shape[1])
        return self.head(self.decoder(self.output_embedding(before), memory, tgt_mask=causal, memory_key_padding_mask=~mask))


def decays(name):
    """Whether weight decay applies: to matrices that multiply features."""
    return name.endswith("weight") and not any(part in name for part in ("norm", "token", "position"))
