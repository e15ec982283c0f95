"""The training loop of xgrad's configs written with PyTorch: optimizers, schedules, clipping, averages, spikes."""

import copy
import fnmatch
import math

import numpy as np
import torch
from cases import LETTERS, initial_weights
from model import EncoderDecoder, Model, decays
from order import mask_factor, minibatches
from sklearn.utils.class_weight import compute_class_weight
from torch.nn import functional as F
from torch.optim import lr_scheduler
from torch.optim.swa_utils import AveragedModel

IGNORE = -100


def target(split, y):
    if split.labels == "generated":
        return torch.tensor(y)
    if split.labels == "tokens":
        return torch.tensor([LETTERS.index(letter) for letter in y])
    if split.labels == "multi_label":
        return torch.tensor([float(letter in y) for letter in LETTERS]).double()
    mean, deviation = split.mean_and_deviation
    return torch.tensor(np.float32((np.array(y) - mean) / deviation)).double()


def batch_of(split, examples):
    """ids, mask and targets, padded at the end"""
    pad = torch.nn.utils.rnn.pad_sequence
    ids = pad([torch.tensor([split.ids.get(word, 0) for word in split.words[e]]) for e in examples], True)
    mask = pad([torch.ones(len(split.words[e]), dtype=torch.bool) for e in examples], True)
    return ids, mask, pad([target(split, split.targets[e]) for e in examples], True, IGNORE)


def model_of(case, data):
    """The model of a case with its initial weights."""
    labels, sizes = data.train.labels, dict(width=8, heads=2, layers=case.get("model.layers", 1), feedforward=12, length=7)
    if labels == "generated":
        symbols = case["task.symbols"]
        model = EncoderDecoder(classes=symbols + 1, vocabulary=symbols, outputs=symbols + 1, **sizes)
    else:
        model = Model(classes=2 if labels == "numbers" else 4, pool="none" if labels == "tokens" else "cls",
                      vocabulary=len(data.train.ids) + 1, **sizes)
    if case.get("model.stablemax"):
        model.head.register_forward_hook(lambda head, inputs, x: torch.sign(x) * torch.log1p(torch.abs(x)))
    weights = initial_weights({name: x.shape for name, x in model.state_dict().items()})
    model.double().load_state_dict({name: torch.tensor(x) for name, x in weights.items()})
    return model


class Lion(torch.optim.Optimizer):
    """Chen et al. 2023, algorithm 2."""

    def __init__(self, groups, betas):
        super().__init__(groups, {"betas": betas})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for x in group["params"]:
                mean = self.state[x].setdefault("mean", torch.zeros_like(x))
                update = torch.sign(beta1 * mean + (1 - beta1) * x.grad)
                x -= group["lr"] * (update + group["weight_decay"] * x)
                mean.copy_(beta2 * mean + (1 - beta2) * x.grad)


def parameter_groups(model, s):
    """The first group that matches counts; a frozen parameter needs no gradient."""
    groups = []
    for name, parameter in model.named_parameters():
        own = next((g for g in s["optim.groups"] if fnmatch.fnmatchcase(name, g["match"])), {})
        if own.get("freeze"):
            parameter.requires_grad_(False)
            continue
        decay = own.get("weight_decay", s["optim.weight_decay"] if decays(name) else 0.0)
        rate = s["optim.lr"] * own.get("lr_scale", 1.0)
        groups.append({"params": [parameter], "lr": rate, "peak": rate, "weight_decay": decay})
    return groups


def make_optimizer(groups, s):
    betas, eps = s["optim.betas"], s["optim.eps"]
    return {
        "adagrad": lambda: torch.optim.Adagrad(groups, eps=eps),
        "adam": lambda: torch.optim.Adam(groups, betas=betas, eps=eps),
        "adamw": lambda: torch.optim.AdamW(groups, betas=betas, eps=eps),
        "lion": lambda: Lion(groups, betas),
        "rmsprop": lambda: torch.optim.RMSprop(groups, alpha=s["optim.alpha"], eps=eps),
        "sgd": lambda: torch.optim.SGD(groups, lr=1, momentum=s["optim.momentum"], nesterov=s["optim.nesterov"]),
    }[s["optim.name"]]()


def make_warmup(optimizer, steps):
    return lr_scheduler.LinearLR(optimizer, 1 / (steps + 1), 1.0, steps)


def make_schedule(optimizer, s, steps):
    """PyTorch's own schedules, except those that it lacks: noam (Vaswani et al. 2017), wsd (Hu et al. 2024) and polynomial with a
    final rate."""
    warmup, final = s["schedule.warmup"], s["schedule.final"]
    n = steps - warmup
    rates = [group["lr"] for group in optimizer.param_groups]
    if s["schedule.name"] == "one_cycle":
        div = s["schedule.div"]
        return lr_scheduler.OneCycleLR(optimizer, rates, total_steps=steps, pct_start=(warmup + 1) / steps, div_factor=div,
                                       final_div_factor=1 / (div * final), cycle_momentum=False)
    if s["schedule.name"] == "plateau":
        return lr_scheduler.ReduceLROnPlateau(optimizer, factor=s["schedule.gamma"], patience=s["schedule.patience"],
                                              min_lr=[final * rate for rate in rates])
    fall, power = s["schedule.decay"], s["schedule.power"]
    after = {
        "constant": lambda: lr_scheduler.LambdaLR(optimizer, lambda t: 1.0),
        "linear": lambda: lr_scheduler.LinearLR(optimizer, 1.0, final, n),
        "cosine": lambda: lr_scheduler.CosineAnnealingLR(optimizer, n, final * s["optim.lr"]),
        "polynomial": lambda: (
            lr_scheduler.LambdaLR(optimizer, lambda t: final + (1 - final) * (1 - t / n) ** power if t < n else final)
            if final else lr_scheduler.PolynomialLR(optimizer, n, power)),
        "step": lambda: lr_scheduler.StepLR(optimizer, s["schedule.every"], s["schedule.gamma"]),
        "noam": lambda: lr_scheduler.LambdaLR(optimizer, lambda t: math.sqrt((warmup + 1) / (warmup + t + 1))),
        "wsd": lambda: lr_scheduler.LambdaLR(
            optimizer, lambda t: 1 - (1 - final) * max(0.0, (t / n - (1 - fall)) / fall)),
    }[s["schedule.name"]]()
    return lr_scheduler.SequentialLR(optimizer, [make_warmup(optimizer, warmup), after], [warmup]) if warmup else after


def count(targets):
    return int((targets != IGNORE).sum())


def class_weights(s, split):
    """None without train.class_weights."""
    weights = s["train.class_weights"]
    if weights == "balanced":
        targets = np.concatenate([target(split, y) for y in split.targets])
        weights = compute_class_weight("balanced", classes=np.arange(len(LETTERS)), y=targets)
    return torch.tensor(weights, dtype=torch.float64) if len(weights) else None


def loss_sum(outputs, targets, s, label_smoothing=0.0, weights=None):
    """The loss added up over the targets."""
    if targets.dtype == torch.int64:
        return F.cross_entropy(outputs.flatten(0, 1), targets.flatten(), reduction="sum", ignore_index=IGNORE,
                               label_smoothing=label_smoothing, weight=weights)
    losses = {
        "binary_cross_entropy": F.binary_cross_entropy_with_logits,
        "mse": F.mse_loss,
        "mae": F.l1_loss,
        "huber": lambda x, y, reduction: F.huber_loss(x, y, reduction=reduction, delta=s["train.huber_delta"]),
    }
    return losses[s["train.loss"]](outputs, targets, reduction="sum")


class HeadDiversity:
    """The mean squared cosine of the attention maps of two heads, over examples, pairs of heads and layers."""

    def __init__(self, model):
        self.layers = model.encoder.layers
        for layer in self.layers:
            layer.self_attn.register_forward_pre_hook(self.see)

    def see(self, attention, inputs):
        x, h = inputs[0], attention.num_heads
        q, k, _ = (x @ attention.in_proj_weight.T).chunk(3, -1)
        q, k = (y.unflatten(-1, (h, -1)).transpose(1, 2) for y in (q, k))
        scores = q @ k.transpose(2, 3) / math.sqrt(q.shape[-1])
        maps = scores.masked_fill(~self.mask[:, None, None, :], -math.inf).softmax(-1) * self.mask[:, None, :, None]
        maps = F.normalize(maps.flatten(2), dim=-1)
        squares = (maps @ maps.transpose(1, 2)) ** 2
        pairs = squares.sum((1, 2)) - squares.diagonal(dim1=1, dim2=2).sum(1)
        self.sum = self.sum + pairs.sum() / (h * (h - 1)) / len(self.layers)

    def expect(self, mask):
        self.mask, self.sum = mask, 0.0


class StochasticDepth(torch.nn.Module):
    """What follows a sublayer: multiplies the result of each example by 0 or 1 / (1 - rate); torchvision.ops.StochasticDepth in mode
    "row", with the numbers of xgrad."""

    def __init__(self, site, rate):
        super().__init__()
        self.site, self.rate = site, rate

    def forward(self, y):
        if self.now is None:
            return y
        seed, step, first, scale = self.now
        factors = [mask_factor(seed, step, self.site, first + i, self.rate * scale) for i in range(len(y))]
        return y * torch.tensor(factors, dtype=torch.float64)[:, None, None]


def stochastic_depths(model, rate):
    """Puts them into a model; none for a rate of 0."""
    depths, layers = [], model.encoder.layers if rate else []
    for i, layer in enumerate(layers):
        for name in ("dropout1", "dropout2"):
            depths.append(StochasticDepth(f"encoder.layers.{i}.stochastic_depth{name[-1]}", rate * ((i + 1) / len(layers))))
            setattr(layer, name, depths[-1])
    return depths


class Loop:
    """A run of settings `s`, by key, on data.train and data.validation: rows of metrics, and the model at the end."""

    def __init__(self, s, model, data):
        self.s, self.model, self.data = s, model, data
        lengths = [len(words) for words in data.train.words]
        growth = s["train.curriculum_start"], s["train.curriculum_steps"], s["train.accumulate"]
        self.batches = minibatches(lengths, growth if growth[0] else None, seed=s["train.seed"], batch=s["train.batch"],
                                   bucket=s["train.bucket"])
        self.class_weights = class_weights(s, data.train)
        self.depths = stochastic_depths(model, s.get("model.stochastic_depth", 0))
        self.epoch = math.ceil(len(lengths) / s["train.batch"])
        self.steps = s["train.steps"] or math.ceil(s["train.epochs"] * self.epoch / s["train.accumulate"])
        self.evaluate_every = s["train.evaluate_every"] or s["train.steps"] // 10
        self.optimizer = make_optimizer(parameter_groups(model, s), s)
        self.schedule = make_schedule(self.optimizer, s, self.steps)
        # Every other schedule has its own warm-up; this one steps once an evaluation, and its warm-up once a step.
        self.stepped = self.schedule
        if s["schedule.name"] == "plateau":
            self.stepped = make_warmup(self.optimizer, s["schedule.warmup"])
        self.heads = HeadDiversity(model) if s["train.head_diversity"] else None
        self.average = None
        if decay := s["train.ema"]:
            self.average = AveragedModel(model, avg_fn=lambda mean, x, _: decay * mean + (1 - decay) * x)
            self.average.update_parameters(model)  # the first call copies the weights
        elif s["train.swa_start"]:
            self.average = AveragedModel(model)
        self.step, self.rows, self.validations = 0, {}, {}
        self.best, self.bad = math.inf, 0
        self.norm_mean, self.norms = 0.0, 0
        self.save()

    def run(self):
        while self.step < self.steps and not 0 < self.s["train.patience"] <= self.bad:
            if not self.update():
                continue
            best = self.validate() if self.due() else False
            if best or self.step % (self.s["train.save_every"] or self.evaluate_every or self.epoch) == 0:
                self.save()

    def update(self):
        """One step; false if it was undone."""
        s = self.s
        batches = [batch_of(self.data.train, next(self.batches)) for _ in range(s["train.accumulate"])]
        self.optimizer.zero_grad()
        loss = self.backward_all(batches)
        trained = [x for x in self.model.parameters() if x.requires_grad]
        norm = float(torch.nn.utils.clip_grad_norm_(trained, math.inf))
        if most := s["train.clip_value"]:
            torch.nn.utils.clip_grad_value_(trained, most)
        torch.nn.utils.clip_grad_norm_(trained, s["train.clip"] or math.inf)
        if self.norms >= 20 and 0 < s["train.spike"] < norm / self.norm_mean:
            if s["train.on_spike"] == "rollback":
                return self.go_back()
        else:
            self.norm_mean = norm if self.norms == 0 else self.norm_mean + 0.02 * (norm - self.norm_mean)
            self.norms += 1
            self.rows[self.step + 1] = {"loss": loss, "lr": self.rate(), "grad_norm": norm}
            self.optimizer.step()
            if self.average and self.averages_now():
                self.average.update_parameters(self.model)
        self.step += 1
        self.stepped.step()
        return True

    def averages_now(self):
        after = self.step + 1 - self.s["train.swa_start"]
        return self.s["train.swa_start"] == 0 or (after > 0 and after % self.s["train.swa_every"] == 0)

    def averaged(self):
        """The model to validate. An average that has no weights yet is the model itself."""
        return self.average.module if self.average and self.average.n_averaged > 0 else self.model

    def rate(self):
        """The learning rate before the factors of groups."""
        group = self.optimizer.param_groups[0]
        return group["lr"] * self.s["optim.lr"] / group["peak"]

    def outputs(self, model, ids, mask, targets):
        if self.heads:
            self.heads.expect(mask)
        return model(ids, mask, targets) if self.data.train.labels == "generated" else model(ids, mask)

    def backward_all(self, batches):
        examples = sum(len(batch[2]) for batch in batches)
        targets = sum(count(batch[2]) for batch in batches)
        weights, first, loss = targets, 0, 0.0
        if self.class_weights is not None:
            weights = sum(float(self.class_weights[batch[2][batch[2] != IGNORE]].sum()) for batch in batches)
        start, end = self.s["train.dropout_start"], self.s["train.dropout_end"]
        for batch in batches:
            for depth in self.depths:
                depth.now = self.s["train.seed"], self.step, first, start + (end - start) * (self.step / (self.steps - 1))
            loss += self.backward(batch, weights, examples) / targets
            first += len(batch[2])
        return loss

    def backward(self, batch, weights, examples):
        """Adds a micro-batch to the gradients. Returns the sum of its losses as metrics.jsonl reports them."""
        outputs, wanted = self.outputs(self.model, *batch), batch[2]
        loss = loss_sum(outputs, wanted, self.s, self.s["train.label_smoothing"], self.class_weights) / weights
        if self.heads:
            loss = loss + self.s["train.head_diversity"] * self.heads.sum / examples
        loss.backward()
        return float(loss_sum(outputs.detach(), wanted, self.s))

    def due(self):
        """Whether this step is validated; without an interval, at the end of each epoch."""
        if self.evaluate_every:
            return self.step % self.evaluate_every == 0 or self.step == self.steps
        done = self.step * self.s["train.accumulate"]
        return done // self.epoch > (done - self.s["train.accumulate"]) // self.epoch or self.step == self.steps

    @torch.no_grad()
    def validate(self):
        """Whether the loss is the best so far."""
        split = self.data.validation
        batch = batch_of(split, range(len(split.words)))
        for depth in self.depths:
            depth.now = None
        loss = float(loss_sum(self.outputs(self.averaged(), *batch), batch[2], self.s)) / count(batch[2])
        self.validations[self.step] = {"loss": loss}
        if self.s["schedule.name"] == "plateau":
            self.schedule.step(loss)
        best = loss < self.best
        self.best, self.bad = (loss, 0) if best else (self.best, self.bad + 1)
        return best

    def weights(self):
        return {name: x.numpy() for name, x in self.model.state_dict().items()}

    def averages(self):
        """Of the parameters that are trained; none without train.ema or train.swa_start."""
        averages = self.average.module.named_parameters() if self.average else ()
        return {name: x.detach().numpy() for name, x in averages if x.requires_grad}

    def state(self):
        return copy.deepcopy([part.state_dict() for part in (self.model, self.optimizer, self.schedule)])

    def save(self):
        self.saved = self.state(), (self.step, self.best, self.bad, self.norm_mean, self.norms)

    def go_back(self):
        """Back to the last save, but not in the data."""
        states, (self.step, self.best, self.bad, self.norm_mean, self.norms) = copy.deepcopy(self.saved)
        for part, state in zip((self.model, self.optimizer, self.schedule), states):
            part.load_state_dict(state)
        for rows in (self.rows, self.validations):
            for step in [step for step in rows if step > self.step]:
                del rows[step]
        return False
