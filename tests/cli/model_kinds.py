"""Small models of every kind, and the models of the shipped configs: for tests of programs that compute what a model does."""

import os
import pathlib
import tomllib

SMALL = """
[task]
name = "{task}"
{options}
[model]
width = 16
heads = 2
layers = 2
[train]
steps = {steps}
batch = 16
"""
TASKS = {
    "reverse": "length = 6\nmin_length = 2\nsymbols = 8",
    "majority": "length = 9\nmin_length = 2",
    "negation": "",
    "modular_addition": "",
    "distinct": "length = 6\nmin_length = 1",
    "motif": "min_length = 6",
    "files": 'train = "rows.csv"\nvalidation = "rows.csv"\nlabels = "multi_label"',
}
WRITER = ("distinct", "model.kind=encoder_decoder", "model.layers=1")
# Together they have every word of every key that a model has.
MODELS = {
    "plain": ("reverse",),
    "post": ("reverse", "model.norm=post", "model.normalization=rms", "model.activation=relu"),
    "sandwich": ("reverse", "model.norm=sandwich", "model.positions=sinusoidal", "model.activation=silu",
                 "model.qkv_bias=true"),
    "none": ("reverse", "model.norm=none", "model.positions=none", "model.activation=gelu_tanh", "model.out_bias=false",
             "model.head_dim=5", "model.final_norm=false", "model.layers=1"),
    "double": ("reverse", "train.precision=double"),
    "no layers": ("reverse", "model.layers=0"),
    "mean": ("majority", "model.pool=mean"),
    "stablemax": ("majority", "model.pool=mean", "model.stablemax=true"),
    "cls": ("majority", "model.pool=cls", "model.positions=sinusoidal"),
    "max": ("majority", "model.pool=max", "model.positions=relative_index"),
    "attention": ("majority", "model.pool=attention", "model.positions=rotary"),
    "turned": ("reverse", "model.positions=rotary", "model.head_dim=6", "model.qkv_bias=true"),
    "part of the way": ("majority", "model.pool=cls", "model.positions=relative_index"),
    "one-hot": ("reverse", "model.input=one_hot"),
    "words": ("negation",),
    "vectors": ("anomaly",),
    "of one length": ("modular_addition", "model.pool=mean"),
    "slopes": ("reverse", "model.positions=alibi", "model.head_dim=5", "model.heads=3"),
    "distances": ("majority", "model.positions=relative_bias", "model.max_distance=3", "model.pool=cls"),
    "cosine": ("reverse", "model.score=cosine", "model.temperature=0.7", "model.log_scale=true"),
    "additive": ("reverse", "model.score=additive", "model.scale=0.8", "model.qkv_bias=true", "model.exclude_self=true"),
    "relu": ("majority", "model.attention_activation=relu", "model.attention_mean=true", "model.score=cosine"),
    "squared relu": ("reverse", "model.attention_activation=squared_relu", "model.mask=causal", "model.log_scale=true"),
    "sigmoid": ("reverse", "model.attention_activation=sigmoid", "model.attention_mean=true", "model.out_proj=false",
                "model.mask=causal", "model.exclude_self=true"),
    "sparsemax": ("reverse", "model.attention_activation=sparsemax", "model.scale=1", "model.positions=relative_bias"),
    "token by token": ("reverse", "model.kind=mlp"),
    "window": ("reverse", "model.kind=window_mlp", "model.window=5", "model.activation=silu", "model.stablemax=true"),
    "pooled window": ("majority", "model.kind=window_mlp", "model.pool=attention", "model.feedforward=24"),
    "nothing but neighbours": ("anomaly", "model.kind=window_mlp", "model.layers=0"),
    "graph": ("motif", "model.mask=adjacency", "model.pool=max"),
    "graph with a class token": ("motif", "model.mask=adjacency", "model.pool=cls", "model.attention_activation=sparsemax"),
    "graph not looked at": ("motif", "model.pool=mean"),
    "writer": (*WRITER, "model.qkv_bias=true"),
    "as BERT": ("reverse", "model.norm=post", "model.embedding_norm=true", "model.final_norm=false", "model.qkv_bias=true"),
    "post-norm writer": (*WRITER, "model.norm=post", "model.embedding_norm=true", "model.positions=rotary", "model.mask=causal"),
    "writer of places": (*WRITER, "model.positions=rotary", "model.cross_positions=true", "model.stablemax=true"),
    "unusual writer": (*WRITER, "model.positions=relative_bias", "model.score=additive", "model.norm=sandwich",
                       "model.attention_activation=sigmoid", "model.attention_mean=true", "model.log_scale=true"),
    "bare writer": (*WRITER, "model.positions=alibi", "model.score=cosine", "model.exclude_self=true", "model.out_proj=false",
                    "model.norm=none", "model.final_norm=false"),
    "sinusoidal writer": (*WRITER, "model.positions=sinusoidal", "model.input=one_hot"),
}
CONFIGS = pathlib.Path(__file__).resolve().parents[2] / "configs"
# Configs that take minutes to read or to train. Other configs have models of the same kinds. XGRAD_ALL_CONFIGS=1 includes these, too.
LARGE = {"cmu", "fashion_mnist", "kjv_book", "kjv_masked", "kjv_next", "languages", "wordnet"}


def shipped(test=10):
    """The path of each shipped config, with overrides for two steps of its model, narrow, and few examples."""
    for config in sorted(CONFIGS.glob("*.toml")):
        if config.stem in LARGE and "XGRAD_ALL_CONFIGS" not in os.environ:
            continue
        values = tomllib.loads(config.read_text())
        task = values["task"]["name"]
        narrow = [] if "init_from" in values["model"] else ["model.width=16"]  # given weights have their width
        few = [] if config.stem in LARGE or task == "modular_addition" else ["examples=64", "validation=100", f"test={test}"]
        yield config, ["train.steps=2", "train.epochs=0", "train.batch=8", "schedule.warmup=1", *narrow, *(f"task.{word}" for word in few)]
