"""Methods of `Tensor` that are functions of the same name, and the other way
round: each op is written once."""

from __future__ import annotations

from typing import Any

from dtorch import _gathering, _joining, _ordering, _pointwise, _products, _reductions
from dtorch._base import TensorBase, flatten_ints
from dtorch._hot import hot


class Methods(TensorBase):
    """Methods whose first argument is the tensor."""

    __slots__ = ()

    abs = absolute = _pointwise.abs
    add = _pointwise.add
    addcdiv = _pointwise.addcdiv
    addcmul = _pointwise.addcmul
    addmm = _products.addmm
    all = _reductions.all
    amax = _reductions.amax
    amin = _reductions.amin
    aminmax = _reductions.aminmax
    any = _reductions.any
    argmax = _reductions.argmax
    argmin = _reductions.argmin
    argsort = _ordering.argsort
    asin = arcsin = _pointwise.asin
    baddbmm = _products.baddbmm
    bitwise_and = _pointwise.bitwise_and
    bitwise_not = _pointwise.bitwise_not
    bitwise_or = _pointwise.bitwise_or
    bitwise_xor = _pointwise.bitwise_xor
    bmm = _products.bmm
    ceil = _pointwise.ceil
    chunk = _joining.chunk
    clamp = clip = _pointwise.clamp
    clamp_max = _pointwise.clamp_max
    clamp_min = _pointwise.clamp_min
    cos = _pointwise.cos
    count_nonzero = _reductions.count_nonzero
    cumsum = _ordering.cumsum
    diagonal = _gathering.diagonal
    div = divide = true_divide = _pointwise.div
    dot = _products.dot
    eq = _pointwise.eq
    erf = _pointwise.erf
    exp = _pointwise.exp
    expm1 = _pointwise.expm1
    floor = _pointwise.floor
    floor_divide = _pointwise.floor_divide
    fmod = _pointwise.fmod
    gather = _gathering.gather
    ge = greater_equal = _pointwise.ge
    gt = greater = _pointwise.gt
    index_add = _gathering.index_add
    index_copy = _gathering.index_copy
    index_fill = _gathering.index_fill
    index_select = _gathering.index_select
    inner = _products.inner
    isfinite = _pointwise.isfinite
    isinf = _pointwise.isinf
    isnan = _pointwise.isnan
    le = less_equal = _pointwise.le
    lerp = _pointwise.lerp
    log = _pointwise.log
    log10 = _pointwise.log10
    log1p = _pointwise.log1p
    log2 = _pointwise.log2
    logical_and = _pointwise.logical_and
    logical_not = _pointwise.logical_not
    logical_or = _pointwise.logical_or
    logical_xor = _pointwise.logical_xor
    logsumexp = _reductions.logsumexp
    lt = less = _pointwise.lt
    masked_fill = _pointwise.masked_fill
    masked_select = _gathering.masked_select
    matmul = _products.matmul
    max = _reductions.max
    maximum = _pointwise.maximum
    mean = _reductions.mean
    min = _reductions.min
    minimum = _pointwise.minimum
    mm = _products.mm
    msort = _ordering.msort
    mul = multiply = _pointwise.mul
    mv = _products.mv
    narrow = _joining.narrow
    ne = not_equal = _pointwise.ne
    neg = negative = _pointwise.neg
    nonzero = _gathering.nonzero
    norm = _reductions.norm
    outer = _products.outer
    positive = _pointwise.positive
    pow = _pointwise.pow
    prod = _reductions.prod
    reciprocal = _pointwise.reciprocal
    relu = _pointwise.relu
    remainder = _pointwise.remainder
    repeat_interleave = _gathering.repeat_interleave
    roll = _joining.roll
    round = _pointwise.round
    rsqrt = _pointwise.rsqrt
    scatter = _gathering.scatter
    scatter_add = _gathering.scatter_add
    select = _joining.select
    sigmoid = _pointwise.sigmoid
    sign = _pointwise.sign
    sin = _pointwise.sin
    sort = _ordering.sort
    split = _joining.split
    split_with_sizes = _joining.split_with_sizes
    sqrt = _pointwise.sqrt
    square = _pointwise.square
    std = _reductions.std
    sub = subtract = _pointwise.sub
    sum = _reductions.sum
    take = _gathering.take
    take_along_dim = _gathering.take_along_dim
    tanh = _pointwise.tanh
    tensor_split = _joining.tensor_split
    topk = _ordering.topk
    tril = _gathering.tril
    triu = _gathering.triu
    trunc = _pointwise.trunc
    unbind = _joining.unbind
    var = _reductions.var
    vdot = _products.vdot

    @hot("matmul")
    def __matmul__(self, other: Any) -> Any:
        return _products.matmul(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return _products.matmul(other, self)

    def softmax(self, dim: int, dtype: Any = None) -> Any:
        """exp(x) / sum(exp(x)) over a dim."""
        from dtorch.nn.functional import softmax

        return softmax(self, dim, dtype=dtype)

    def log_softmax(self, dim: int, dtype: Any = None) -> Any:
        """log(softmax(x)) over a dim."""
        from dtorch.nn.functional import log_softmax

        return log_softmax(self, dim, dtype=dtype)

    def new_full(self, size: Any, fill_value: Any, **options: Any) -> Any:
        """A tensor of one value with this dtype, on this mesh."""
        from dtorch.factories import full

        options.setdefault("dtype", self.dtype)
        if not self.is_host:
            options.setdefault("device_mesh", self.device_mesh)
        return full(size, fill_value, **options)

    def new_zeros(self, *size: Any, **options: Any) -> Any:
        """Zeros with this dtype, on this mesh."""
        return self.new_full(flatten_ints(size, "new_zeros"), 0, **options)

    def new_ones(self, *size: Any, **options: Any) -> Any:
        """Ones with this dtype, on this mesh."""
        return self.new_full(flatten_ints(size, "new_ones"), 1, **options)

    def new_empty(self, *size: Any, **options: Any) -> Any:
        """Zeros: nothing here is ever uninitialised."""
        return self.new_full(flatten_ints(size, "new_empty"), 0, **options)

    def new_tensor(self, data: Any, **options: Any) -> Any:
        """A copy of data with this dtype, on this mesh."""
        from dtorch.factories import tensor

        options.setdefault("dtype", self.dtype)
        if not self.is_host:
            options.setdefault("device_mesh", self.device_mesh)
        return tensor(data, **options)
