"""Progress bars: a line in a terminal, a picture in a notebook, nothing elsewhere."""

from __future__ import annotations

import html
import sys
import time
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

T = TypeVar("T")
PAUSE = 0.1  # seconds between two drawings
WIDTH = 30


def _notebook():
    """IPython's display() in a notebook, else None."""
    ipython = sys.modules.get("IPython")
    return ipython.display.display if ipython and hasattr(ipython.get_ipython(), "kernel") else None


def shown() -> bool:
    """Whether there is a place for a bar."""
    return _notebook() is not None or sys.stderr is not None and sys.stderr.isatty()


class Bar:
    """A bar of `total` steps, or of an unknown number."""

    def __init__(self, total: int | None):
        self.total, self.first, self.begun, self.drawn, self.handle = total, None, 0.0, 0.0, None

    def show(self, done: int, note: str = "", last: bool = False):
        """Draws the bar, unless it was drawn a moment ago."""
        now = time.monotonic()
        if self.first is None:  # a resumed run begins in the middle
            self.first, self.begun = done, now
        if not last and now - self.drawn < PAUSE:
            return
        self.drawn = now
        text = ", ".join(part for part in (f"{done}/{self.total}" if self.total else str(done), self._time(done, now, last), note) if part)
        display = _notebook()
        if display:
            max_ = f' max="{self.total}"' if self.total else ""
            data = {"text/plain": text, "text/html": f'<progress value="{done}"{max_}></progress> {html.escape(text)}'}
            if self.handle is None:
                self.handle = display(data, raw=True, display_id=True)
            else:
                self.handle.update(data, raw=True)
            return
        full = min(WIDTH, WIDTH * done // self.total) if self.total else 0
        end = "\n" if last else ""
        sys.stderr.write(f"\r{'#' * full}{'-' * (WIDTH - full) if self.total else ''} {text}\x1b[K{end}")
        sys.stderr.flush()

    def _time(self, done, now, last):
        seconds = now - self.begun
        if last or not self.total or done <= self.first:
            return f"{_clock(seconds)}"
        return f"{_clock(seconds * (self.total - done) / (done - self.first))} left"


def _clock(seconds):
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}" if minutes >= 60 else f"{minutes}:{seconds:02}"


class progress(Generic[T]):  # noqa: N801, since it is used as a function
    """Iterates with a progress bar, as in: for step in xgrad.progress(range(1000)). show() adds numbers to the bar."""

    def __init__(self, iterable: Iterable[T], total: int | None = None):
        """`total` is the number of steps; default: len(iterable), if it has a length."""
        self._iterable, self._note = iterable, ""
        self._total = total if total is not None else len(iterable) if hasattr(iterable, "__len__") else None

    def __iter__(self) -> Iterator[T]:
        if not shown():
            yield from self._iterable
            return
        bar, done = Bar(self._total), 0
        try:
            for done, one in enumerate(self._iterable, 1):
                yield one
                bar.show(done, self._note)
        finally:
            bar.show(done, self._note, last=True)

    def show(self, **numbers: object):
        """Shows numbers after the bar, as in bar.show(loss=loss)."""
        self._note = ", ".join(f"{name} {float(value):.4g}" for name, value in numbers.items())
