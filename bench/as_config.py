"""A workload as a config: sequences to be reversed, which have as many classes as words."""


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
