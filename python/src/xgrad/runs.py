"""Training, runs on disk, sweeps and gradient checks."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import pathlib
import tomllib
from typing import TYPE_CHECKING

import numpy

from xgrad import _core, bars, config
from xgrad.errors import (CheckpointError, ConfigError, DataError, Error, IoError, LockError, NumericError,
                          OutOfMemory)

if TYPE_CHECKING:  # numpy.typing takes a while to import
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import ArrayLike
    Path = str | os.PathLike
    Config = Path | Mapping
    Arrays = tuple[ArrayLike, ArrayLike]

COMMAND = pathlib.Path(__file__).parent / "bin" / "xgrad"
# The exception for each exit code of the command; docs/commands.md lists the codes.
EXIT_CODES = {2: ConfigError, 3: DataError, 4: CheckpointError, 5: NumericError, 6: IoError, 7: LockError, 8: OutOfMemory}
# The module calls the command to read files of other programs, because a process with NumPy's threads must not fork.
_core._set_command(str(COMMAND))
atexit.register(_core._leave)


class Run:
    """A run on disk. Its directory holds config, metrics, checkpoints and a report.

    `stopped` is None, or the reason why the run ended early: "SIGINT" after Ctrl-C, "train.max_seconds", "on_step". resume()
    continues a stopped run.
    """

    def __init__(self, directory: Path, *, stopped: str | None = None, seconds: float | None = None, claims: Iterable[dict] = ()):
        """Opens the run in a directory that the command or xgrad.train() wrote."""
        self.directory = pathlib.Path(directory)
        if not (self.directory / "config.toml").is_file():
            raise IoError(f"{directory}: not the directory of a run, which has a config.toml")
        self.stopped, self.seconds, self.claims = stopped, seconds, list(claims)

    def __fspath__(self):
        return str(self.directory)

    def __repr__(self):
        return f"xgrad.Run({str(self.directory)!r}{f', stopped={self.stopped!r}' if self.stopped else ''})"

    @property
    def config(self) -> dict:
        """The config with every key, as a dict of sections; config.toml in the directory is its text."""
        return tomllib.loads((self.directory / "config.toml").read_text(encoding="utf-8"))

    @property
    def checkpoint(self) -> pathlib.Path:
        """The path of the checkpoint that load() and model.init_from of another config take. Raises IoError,
        CheckpointError."""
        return pathlib.Path(_core._checkpoint(str(self.directory)))

    @property
    def rows(self) -> list[dict]:
        """The rows of metrics.jsonl. Each is a dict with step, split, and the metrics of the split with their standard
        errors."""
        file = self.directory / "metrics.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    @property
    def metrics(self) -> dict[str, dict[str, numpy.ndarray]]:
        """{split: {name: array}} for train, validation and test. An array has an entry for each row of the split; `step` holds their
        steps.

        Values that a row lacks, and values that are not finite, are NaN.
        """
        found = {}
        for split in ("train", "validation", "test"):
            rows = [row for row in self.rows if row["split"] == split]
            names = dict.fromkeys(name for row in rows for name, value in row.items() if not isinstance(value, (str, list)))
            found[split] = {name: numpy.array([numpy.nan if row.get(name) is None else row[name] for row in rows]) for name in names}
        return found

    @property
    def finished(self) -> bool:
        """Whether the run has scored the test split."""
        return len(self.metrics["test"]) > 0

    def to_pandas(self):
        """The rows of metrics.jsonl as a pandas.DataFrame."""
        import pandas
        return pandas.DataFrame(self.rows)

    def resume(self, overrides: Mapping | None = None, *, allow_change: Iterable[str] = (),
               on_step: Callable[[_core.Step], object] | None = None, quiet: bool | None = None) -> Run:
        """Continues the run; see xgrad.resume()."""
        return resume(self, overrides, allow_change=allow_change, on_step=on_step, quiet=quiet)

    def _repr_html_(self):
        import base64  # here, since many programs import xgrad and do not need it
        source = base64.b64encode(_core._report(str(self.directory)).encode()).decode()
        return f'<iframe src="data:text/html;base64,{source}" width="100%" height="600" style="border:0"></iframe>'

    def explain(self, every: int = 0, *, last: bool = False) -> Page:
        """The page of `xgrad explain`, which shows how the model works. A notebook shows the page. It holds the checkpoint that
        load() takes, and each `every`-th checkpoint before it; 0: as many as fit in 8 MB. `last` is as in load(). Raises
        ConfigError, IoError, CheckpointError."""
        return Page(_core._explain(str(self.directory), every, last))


class Page(str):
    """An HTML page that a notebook shows."""

    def _repr_html_(self):
        import html  # here, like base64 above
        return f'<iframe srcdoc="{html.escape(self)}" width="100%" height="900" style="border:0"></iframe>'


def _run(call, *arguments, on_step, quiet):
    if on_step is not None and not callable(on_step):
        raise TypeError(f"on_step: expected a function, got {type(on_step).__name__}")
    bar = bars.Bar(None) if quiet is None and bars.shown() else None
    last = []

    def show(step):
        bar.total, last[:] = step.total, [step.step, f"loss {step.loss:.4g}"]
        bar.show(*last)
        return on_step is not None and on_step(step)
    try:
        directory, signal, by_hook, seconds, claims = call(*arguments, show if bar else on_step, quiet is not False)
    except IoError as error:
        place, holds, _ = str(error).partition(" already holds a run;")
        raise IoError(place + config.HOLDS_A_RUN) if holds else error from None
    finally:
        if last:
            bar.show(*last, last=True)
    claims = [dict(zip(("claim", "found", "holds"), claim, strict=True)) for claim in claims]
    return Run(directory, stopped=_reason(signal, by_hook), seconds=seconds, claims=claims)


def _reason(number, by_hook):
    import signal  # here, like base64 above
    if number == 0 or by_hook:
        return "on_step" if number else None
    return "train.max_seconds" if number == signal.SIGALRM else signal.Signals(number).name


def train(source: Config, overrides: Mapping | None = None, *, data: Arrays | Mapping[str, Arrays] | None = None,
          on_step: Callable[[_core.Step], object] | None = None, quiet: bool | None = None, overwrite: bool = False) -> Run:
    """Trains the model of a config in a new run directory and returns its Run.

    `source` is the path of a TOML file or a dict such as {"task": {"name": "reverse"}, "optim": {"lr": 1e-3}};
    `overrides` is a dict such as {"optim.lr": 1e-3}. `xgrad config` lists the keys.

    `data` replaces the task by arrays. With (x, y), a tenth of the rows becomes the validation split and a tenth the test
    split. {"train": (x, y), "validation": (x, y), "test": (x, y)} gives all splits. x has a row for each of B examples:
    integers or text (B, N), where each element is a token; floats (B, N) or (B, N, F); or a list of B arrays of several
    lengths. y has the targets: labels (B) or (B, 1); labels (B, N), one for each token; (B, K) with K != N, which
    says of each of K labels whether the row has it (0 or 1), or holds the names of the K labels that the row has; or floats
    (B) or (B, K). If rows of y differ in length, y is a list of B arrays. The arrays are saved in the run
    directory, so they move with it.

    `on_step` is called after each step with a Step, which has step, total, loss, lr, grad_norm and tokens. If it returns True,
    the run saves and stops, and `stopped` is "on_step". If it raises an exception, the run saves and stops, and train() raises
    this exception.

    If the directory already holds a run, raises IoError, unless `overwrite` replaces that run.

    Ctrl-C saves a checkpoint and returns a Run whose `stopped` is "SIGINT". By default, a notebook or a terminal shows a
    progress bar. quiet=True shows nothing; quiet=False writes the lines of the command to standard error. Raises ConfigError,
    DataError, IoError, LockError, NumericError.
    """
    file, name, words = config.words(source, overrides)
    with config.replaced(config.run_folder(file, words, name)[0]) if overwrite else contextlib.nullcontext():
        if data is None:
            return _run(_core._train, file, name, words, on_step=on_step, quiet=quiet)
        folder, task = config.write_data(data, file, words, name)
        try:
            return _run(_core._train, file, name, words + task, on_step=on_step, quiet=quiet)
        finally:
            config.remove_data(folder)


def resume(run: Path, overrides: Mapping | None = None, *, allow_change: Iterable[str] = (),
           on_step: Callable[[_core.Step], object] | None = None, quiet: bool | None = None) -> Run:
    """Continues a stopped run, to the same bits as without the stop, and returns its Run.

    `run` is a Run, or the path of a run directory or a checkpoint. From an older checkpoint, it starts a new run in another
    directory. `on_step` is as in train(). `allow_change` names the keys that `overrides` may change.
    """
    return _run(_core._resume, os.fspath(run), config.overrides(overrides), list(allow_change), on_step=on_step, quiet=quiet)


class Sweep:
    """A sweep on disk, in `directory`. `results` is the content of its results.json."""

    def __init__(self, directory: Path):
        """Opens the sweep in a directory that `xgrad sweep` or xgrad.sweep() wrote."""
        self.directory = pathlib.Path(directory)
        self.results = json.loads((self.directory / "results.json").read_text(encoding="utf-8"))

    def to_pandas(self):
        """results.csv as a pandas.DataFrame: a row for each run, with its settings and metrics."""
        import pandas
        return pandas.read_csv(self.directory / "results.csv")


def sweep(source: Config, overrides: Mapping | None = None, *, over: Mapping[str, Iterable], jobs: int | None = None,
          data: Arrays | Mapping[str, Arrays] | None = None, out: Path | None = None, quiet: bool = True) -> Sweep:
    """Trains a config with every combination of the values in `over`, such as {"optim.lr": [1e-3, 3e-4]}, and returns a Sweep.
    `jobs` processes train at a time; default: one per core. `source` is a path or a dict, as in train(). `out` is the directory
    of the sweep; default: runs/sweep-NAME for NAME.toml, or for a dict with the task NAME, which is written to `out` as
    NAME.toml. `data` is as in train(), and is saved in `out`. Finished runs are not repeated. Ctrl-C saves the runs and raises
    KeyboardInterrupt; the same call continues them. Raises the errors of train(). If no run could begin, raises the error of
    the first run.
    """
    file, name, words = config.words(source, overrides)
    out = pathlib.Path(out or pathlib.Path("runs") / f"sweep-{pathlib.Path(name).stem}")
    if not file:
        file = str(out / f"{name}.toml")
        out.mkdir(parents=True, exist_ok=True)
        pathlib.Path(file).write_text("\n".join(config.overrides(source)) + "\n", encoding="utf-8")
        # Passes the dict as overrides, too. In an override, a relative path starts at the working directory, as in train().
        given = [word for word in config.overrides(source) if word.partition("=")[0] not in over]
        words = [*given, *config.overrides(overrides)]
    if data is not None:
        out.mkdir(parents=True, exist_ok=True)
        words += config.write_data(data, file, words, name, out)[1]
    axes = [f"{key}={config.literal(list(values))}" for key, values in over.items()]
    code, said = _core._sweep(file, words, axes, str(out), jobs or 0, str(COMMAND), quiet)
    if code >= 128:
        import signal
        signal.raise_signal(code - 128)  # handled as before the sweep: Ctrl-C raises KeyboardInterrupt
        raise KeyboardInterrupt
    if code not in (0, 1):
        raise EXIT_CODES.get(code, Error)(said.rpartition("xgrad: ")[2].strip())
    return Sweep(out)


class GradientCheck:
    """The result of gradcheck(). `certificate` holds all of it as a dict, described in docs/proof.md."""

    def __init__(self, certificate: str):
        """`certificate` is the JSON text that gradcheck writes."""
        self.certificate = json.loads(certificate)

    @property
    def ok(self) -> bool:
        """Whether every gradient agrees with finite differences."""
        return self.certificate["passed"]

    def __bool__(self):
        return self.ok

    def __repr__(self):
        return f"<xgrad.GradientCheck: {'passed' if self.ok else 'FAILED'}, {len(self.certificate['tensors'])} tensors>"

    def to_pandas(self):
        """A pandas.DataFrame with a row for each parameter tensor, and one row for all together."""
        import pandas
        return pandas.json_normalize(self.certificate["tensors"])


def gradcheck(source: Config, overrides: Mapping | None = None) -> GradientCheck:
    """Compares the hand-written gradients of a config's model with finite differences in extended precision,
    and returns a GradientCheck. Takes a config as train() does.
    """
    file, _, words = config.words(source, overrides)
    return GradientCheck(_core._gradcheck(file, words))
