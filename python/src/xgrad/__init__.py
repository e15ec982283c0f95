"""xgrad trains transformer encoders, with every gradient written by hand and proven."""

from xgrad import errors
from xgrad._core import *
from xgrad.errors import *
