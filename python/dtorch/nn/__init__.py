"""Modules, layers and functions, named as in `torch.nn`."""

from dtorch.nn import functional, init
from dtorch.nn.modules import *  # noqa: F403
from dtorch.nn.modules import __all__ as _modules
from dtorch.nn.parameter import Parameter

__all__ = ["Parameter", "functional", "init", *_modules]
