"""The model of the benchmarks in PyTorch, with the same names of parameters as in xgrad."""

import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.w = w
        self.in_proj_weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(3 * w.width, w.width)))
        self.out_proj = nn.Linear(w.width, w.width)

    def forward(self, x):
        batch, tokens, width = x.shape
        features = width // self.w.heads
        qkv = F.linear(x, self.in_proj_weight).view(batch, tokens, 3, self.w.heads, features)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        p = self.w.dropout if self.training else 0.0
        if self.w.attention == "fused":
            y = F.scaled_dot_product_attention(q, k, v, dropout_p=p)
        else:
            y = F.dropout((q @ k.transpose(-2, -1) * features**-0.5).softmax(-1), p) @ v
        return self.out_proj(y.transpose(1, 2).reshape(batch, tokens, width))


class Block(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.w = w
        self.self_attn = Attention(w)
        self.linear1 = nn.Linear(w.width, 4 * w.width)
        self.linear2 = nn.Linear(4 * w.width, w.width)
        self.norm1, self.norm2 = nn.LayerNorm(w.width), nn.LayerNorm(w.width)

    def forward(self, x):
        def drop(y):
            return F.dropout(y, self.w.dropout, self.training)

        x = x + drop(self.self_attn(self.norm1(x)))
        return x + drop(self.linear2(drop(F.gelu(self.linear1(self.norm2(x))))))


class Model(nn.Module):
    """Maps ids (B, N) to logits (B, N, V). `w` has the sizes and the form of attention."""

    def __init__(self, w):
        super().__init__()
        self.embedding = nn.ModuleDict({"token": nn.Embedding(w.vocabulary, w.width),
                                        "position": nn.Embedding(w.tokens, w.width)})
        for table in self.embedding.values():
            nn.init.normal_(table.weight, std=0.02)
        self.encoder = nn.ModuleDict({"layers": nn.Sequential(*(Block(w) for _ in range(w.layers))),
                                      "norm": nn.LayerNorm(w.width)})
        self.head = nn.Linear(w.width, w.vocabulary)

    def forward(self, ids):
        x = self.embedding["token"](ids) + self.embedding["position"].weight
        return self.head(self.encoder["norm"](self.encoder["layers"](x)))


def loss(model, ids, targets):
    return F.cross_entropy(model(ids).flatten(0, 1), targets.flatten())
