"""Matrix products."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dtorch._base import as_number, as_tensor, record
from dtorch._elementwise import binary
from dtorch._hot import hot
from dtorch._pointwise import add
from dtorch._shaping import view_as_shape
from dtorch.errors import fail

if TYPE_CHECKING:
    from dtorch.tensor import Tensor

__all__ = ["addmm", "baddbmm", "bmm", "dot", "inner", "matmul", "mm", "mv", "outer", "vdot"]


@hot("matmul")
def matmul(input: Any, other: Any) -> Tensor:
    """input @ other as in PyTorch: [..., m, k] @ [..., k, n], batch dims broadcast;
    a 1-dim operand is a row on the left, a column on the right."""
    return _product("matmul", as_tensor(input, "matmul"), as_tensor(other, "matmul"))


def _product(subject: str, x: Tensor, y: Tensor) -> Tensor:
    if x.dtype is not y.dtype:
        raise fail(
            TypeError,
            f"{subject}: operands must have one dtype, got {x.dtype.name} and {y.dtype.name}",
            "convert one with .to(dtype)",
        )
    if not x.ndim or not y.ndim:
        raise fail(ValueError, f"{subject}: operands must have at least 1 dim, got 0")
    rows, columns = x.ndim == 1, y.ndim == 1
    result = record("matmul", [x.unsqueeze(0) if rows else x, y.unsqueeze(1) if columns else y])
    if not rows and not columns:
        return result
    shape = list(result.shape)
    if columns:
        shape.pop()
    if rows:
        del shape[-1 if columns else -2]
    return view_as_shape(result, shape)


def _of_dims(subject: str, input: Any, other: Any, left: int, right: int) -> Tensor:
    x, y = as_tensor(input, subject), as_tensor(other, subject)
    if (x.ndim, y.ndim) != (left, right):
        raise fail(
            ValueError,
            f"{subject}: operands must have {left} and {right} dims, "
            f"got shapes {x.shape} and {y.shape}",
        )
    if left == 3 and x.shape[0] != y.shape[0]:
        raise fail(ValueError, f"{subject}: batches must agree, got {x.shape} and {y.shape}")
    return _product(subject, x, y)


def mm(input: Any, mat2: Any) -> Tensor:
    """[m, k] @ [k, n]."""
    return _of_dims("mm", input, mat2, 2, 2)


def bmm(input: Any, mat2: Any) -> Tensor:
    """[b, m, k] @ [b, k, n]."""
    return _of_dims("bmm", input, mat2, 3, 3)


def mv(input: Any, vec: Any) -> Tensor:
    """[m, k] @ [k]."""
    return _of_dims("mv", input, vec, 2, 1)


def dot(input: Any, tensor: Any) -> Tensor:
    """The sum of products of two vectors."""
    return _of_dims("dot", input, tensor, 1, 1)


def vdot(input: Any, other: Any) -> Tensor:
    """As `dot`: numbers here are real."""
    return _of_dims("vdot", input, other, 1, 1)


def inner(input: Any, other: Any) -> Tensor:
    """Sums of products over the last dims of both."""
    x, y = as_tensor(input, "inner"), as_tensor(other, "inner")
    if not x.ndim or not y.ndim:
        return binary("mul", x, y)
    flat = y.reshape(-1, y.shape[-1]) if y.ndim > 2 else y
    if x.shape[-1] != y.shape[-1]:
        raise fail(ValueError, f"inner: last dims must agree, got {x.shape} and {y.shape}")
    result = _product("inner", x, flat if flat.ndim == 1 else flat.transpose(0, 1))
    return view_as_shape(result, [*x.shape[:-1], *y.shape[:-1]])


def outer(input: Any, vec2: Any) -> Tensor:
    """Products of each element of one vector with each of another."""
    x, y = as_tensor(input, "outer"), as_tensor(vec2, "outer")
    if x.ndim != 1 or y.ndim != 1:
        raise fail(ValueError, f"outer: operands must have 1 dim, got {x.shape} and {y.shape}")
    return binary("mul", x.unsqueeze(1), y)


def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2)."""
    return _scaled_sum(input, mm(mat1, mat2), beta, alpha)


def baddbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * input + alpha * (batch1 @ batch2)."""
    return _scaled_sum(input, bmm(batch1, batch2), beta, alpha)


def _scaled_sum(input: Any, product: Tensor, beta: Any, alpha: Any) -> Tensor:
    x = as_tensor(input, "addmm").expand(product.shape)
    if not product.dtype.is_floating_point:
        beta, alpha = (int(n) if as_number(n) is not None else n for n in (beta, alpha))
    if isinstance(beta, (int, float)) and beta == 0:  # NaN in input does not count
        return binary("mul", product, alpha)
    return add(binary("mul", product, alpha), x, alpha=beta)
