"""Writes a workload as a config. The task is to reverse a sequence, so the number of classes is the size of the vocabulary."""


def text(w, steps, examples):
    return f"""
[task]
name = "reverse"
length = {w.tokens}
symbols = {w.vocabulary}
examples = {examples}
validation = 1
test = 1
[model]
width = {w.width}
heads = {w.heads}
layers = {w.layers}
dropout = {w.dropout}
attention_dropout = {w.dropout}
[optim]
name = "adam"
[train]
steps = {steps}
batch = {w.batch}
threads = 1
"""
