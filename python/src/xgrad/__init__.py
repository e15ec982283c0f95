"""xgrad trains small transformers on CPUs. Every gradient is written by hand and tested against finite differences."""

from xgrad import errors, optim
from xgrad._core import *
from xgrad._core import __version__
from xgrad.bars import progress
from xgrad.errors import *
from xgrad.layers import Dropout, save
from xgrad.models import Model, load
from xgrad.runs import GradientCheck, Run, Sweep, gradcheck, resume, sweep, train
from xgrad.variables import max
