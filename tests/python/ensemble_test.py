"""Ensembles from Python, beside means that NumPy computes from each run's own probabilities."""

import numpy as np
import pytest

import xgrad


def trained(folder, task, model=None, **train):
    """Runs of two seeds, one with a second layer."""
    config = {"task": task, "model": {"width": 8, "heads": 2, "layers": 1} | (model or {}), "optim": {"lr": 0.01}, "train": {"steps": 60} | train}
    return [xgrad.train(config, {"train.seed": seed, "model.layers": seed, "run.dir": folder / str(seed)}) for seed in (1, 2)]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("reverse"), {"name": "reverse", "length": 5, "symbols": 6})


@pytest.fixture(scope="module")
def writers(tmp_path_factory):
    task = {"name": "copy", "length": 5, "min_length": 2, "symbols": 6}
    return trained(tmp_path_factory.mktemp("copy"), task, {"kind": "encoder_decoder"}, steps=120)


ROWS = np.random.default_rng(1).integers(0, 6, (40, 5))


def mean_of(runs, rows):
    return np.mean([xgrad.load(run).probabilities(rows) for run in runs], 0)


def test_probabilities_are_the_mean(runs):
    ensemble, mean = xgrad.load(runs), mean_of(runs, ROWS)
    np.testing.assert_allclose(ensemble.probabilities(ROWS), mean, atol=1e-6)
    for one, row in zip(ensemble.predict(ROWS), mean):
        assert one.labels == [ensemble.labels[c] for c in row.argmax(-1)]
        np.testing.assert_allclose(one.probabilities, row.max(-1), atol=1e-6)
    # The mean of the logits has other probabilities, so this would not pass by it.
    logits = np.mean([xgrad.load(run).logits(ROWS) for run in runs], 0)
    other = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    assert np.abs(other - mean).max() > 1e-3


def test_scores_are_those_of_the_mean(runs):
    targets = ROWS[:, ::-1]
    mean = mean_of(runs, ROWS)
    found = xgrad.load(runs).evaluate(ROWS, targets)
    right = mean.argmax(-1) == targets
    assert found["accuracy"] == pytest.approx(right.mean())
    assert found["exact_match"] == pytest.approx(right.all(-1).mean())
    assert found["loss"] == pytest.approx(-np.log(np.take_along_axis(mean, targets[..., None], -1)).mean(), abs=1e-6)


def test_a_run_twice_is_that_run(runs, writers):
    for run in (runs[0], writers[1]):
        one, twice = xgrad.load(run), xgrad.load([run, run])
        for a, b in zip(one.predict(ROWS), twice.predict(ROWS)):
            np.testing.assert_array_equal(a.logits, b.logits)
            assert (a.labels, a.probabilities) == (b.labels, b.probabilities)
        assert one.evaluate(ROWS, ROWS) == twice.evaluate(ROWS, ROWS)


def test_a_list_of_one_is_that_run(runs):
    assert repr(xgrad.load([runs[0]])) == repr(xgrad.load(runs[0]))
    assert xgrad.load([runs[0]]).step == 60


def test_members_decode_together(writers):
    """Greedily, step by step: each class has the largest mean of the probabilities after the classes before it."""
    members, ensemble = [xgrad.load(run) for run in writers], xgrad.load(writers)
    end, alone = ensemble.labels.index("end"), 0
    for row in ROWS[:20]:
        classes, chosen, total = [], [], 0.0
        while len(classes) < 6 and classes[-1:] != [end]:
            # Teacher forcing reads the classes so far; the last row of logits is that of the next class.
            logits = [member.logits(row, outputs=[" ".join(map(str, classes))])[0, -1] for member in members]
            p = np.mean([np.exp(x - np.logaddexp.reduce(x)) for x in np.array(logits, float)], 0)
            classes.append(int(p.argmax()))
            chosen.append(p.max())
            total += np.log(p.max())
        one, = ensemble.predict(row)
        assert one.labels == [str(c) for c in classes if c != end]
        np.testing.assert_allclose(one.probabilities, chosen[:len(one.labels)], atol=1e-6)
        np.testing.assert_allclose(ensemble.logits(row, outputs=[" ".join(one.labels)])[0], one.logits, atol=1e-4)
        alone += any(one.labels != member.predict(row)[0].labels for member in members)
    assert alone > 0  # the members differ, so decoding each by itself would not pass


def test_what_an_ensemble_has_not(runs):
    ensemble = xgrad.load(runs)
    assert repr(ensemble) == f"xgrad.load({[str(run.checkpoint) for run in runs]})"
    for call, what in ((lambda: ensemble.attention(ROWS), "activations and no attention"), (lambda: ensemble.capture(ROWS), "activations"),
                       (lambda: ensemble.study_heads(5), "attention"), (lambda: ensemble.silence([(0, 0)], 5), "attention"),
                       (lambda: ensemble.patch(ROWS[0], ROWS[1]), "activations"),
                       (lambda: ensemble.logits(ROWS, replace={"encoder.layers.0.mlp_hidden": np.zeros(1)}), "activations"),
                       (ensemble.state_dict, "weights"), (lambda: ensemble.step, "step"), (lambda: ensemble.config, "config")):  # fmt: skip
        with pytest.raises(xgrad.Error, match=f"an ensemble of 2 models has no .*{what}.*load one of its runs"):
            call()


def test_runs_that_differ(runs, writers):
    with pytest.raises(xgrad.ConfigError, match=r"has task.name = copy, but .* has reverse; an ensemble needs the same in all runs"):
        xgrad.load([runs[0], writers[0]])
    with pytest.raises(xgrad.ConfigError, match="empty list"):
        xgrad.load([])
    with pytest.raises(OSError, match="absent"):
        xgrad.load([runs[0], "absent"])
