"""xgrad trains transformer encoders. Every gradient is written by hand and tested against finite differences."""

from xgrad import errors
from xgrad._core import *
from xgrad._core import __version__
from xgrad.errors import *
from xgrad.models import Model, load
from xgrad.runs import GradientCheck, Run, Sweep, gradcheck, resume, sweep, train
