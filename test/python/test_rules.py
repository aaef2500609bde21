"""The placement rules against brute force: sound, complete, and able to be wrong."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dtorch import _dtorch
from dtorch.testing.oracle import Claim, Judge, R, mesh_of
from dtorch.testing.samples import SAMPLES, Case, Operand, Sample, f, generator

P = _dtorch.Placement.partial()
PMAX = _dtorch.Placement.partial("max")
MESHES = (mesh_of(2), mesh_of(3))
MAX_CLAIMS_WITH_UNITS = 6000


def shard(dim: int, unit: int = 1) -> _dtorch.Placement:
    return _dtorch.Placement.shard(dim, unit)


def on_axis(*placements: _dtorch.Placement) -> Claim:
    return tuple((p,) for p in placements)


def text(claim: Claim) -> str:
    *operands, result = [", ".join(map(str, p)) for p in claim]
    return f"{' | '.join(operands)} -> {result}"


def reductions(sample: Sample) -> tuple[str, ...]:
    """Pending kinds to try: all, but for calls of many operands only sums."""
    return ("sum", "max", "min") if len(sample.cases[0].operands) < 4 else ("sum",)


def judges(sample: Sample) -> list[Judge]:
    rng = generator(sample.name)
    return [Judge(sample.op, case, rng) for case in sample.cases]


def count(judge: Judge, sample: Sample, units: bool) -> int:
    return sum(1 for _ in judge.claims(reductions(sample), units))


# Claims that are valid by brute force on every case and yet not declared, with
# the reason. (The samples' values decide what "valid" means: `sqrt` sees positive
# numbers only.)


def is_extremum(p: _dtorch.Placement) -> bool:
    return p.kind == "P" and p.reduce != "sum"


RISING_IN_PLACES = {"log", "log2", "log10", "log1p", "sqrt", "asin"}


def exception(sample: Sample, claim: Claim) -> str | None:
    *operands, result = [p[0] for p in claim]
    pending = [p for p in operands if p.kind == "P"]
    replicated = all(p == R for p in operands) or sample.op == "cat"
    if is_extremum(result) and replicated and R in operands:
        return "a replicated value is its own maximum: a redistribute R -> P(max) says so"
    falling = sample.kind in ("neg", "sub", "reciprocal", "rsqrt")
    if falling and pending and all(map(is_extremum, pending)):
        return "a falling function turns a maximum into a minimum: one clause, one kind"
    if sample.kind in RISING_IN_PLACES and is_extremum(result):
        return "rising only where it is defined: the parts of a maximum may lie elsewhere"
    if sample.kind == "sign" and is_extremum(result):
        return "the sign of NaN, which a maximum passes on, is 0"
    if sample.op == "cast" and pending:
        return "rounding the parts is not rounding their sum, though close"
    if sample.op == "embedding" and is_extremum(result):
        return "no op makes a table that is a pending maximum"
    if sample.op in ("arange", "full") and pending:
        return "a factory's operands are numbers, replicated everywhere"
    if sample.op == "sdpa":
        query, key, value, _, *mask = operands
        replicated_heads = key == value == R and str(query).startswith("S(1")  # declared
        if query == result and query.kind == "S" and R in (key, value) and not replicated_heads:
            return "K and V follow a batch or go together: a replicated one is sliced locally"
        if query == result and mask == [R] and query.kind == "S":
            return "a replicated mask is sliced locally first"
    return None


def test_every_op_and_kind_has_a_sample() -> None:
    wanted = {
        (entry["name"], kind) for entry in _dtorch.op_table() for kind in entry["kinds"] or [None]
    }
    given = {(s.op, s.kind if s.op != "random" else None) for s in SAMPLES.values()}
    assert wanted == given


@pytest.mark.parametrize("name", SAMPLES)
def test_rule_is_sound_and_complete(name: str) -> None:
    """On one axis of 2 and of 3 devices, the engine accepts a claim only if brute
    force does, and every claim that holds on all cases unless it is excepted."""
    sample = SAMPLES[name]
    holds: dict[str, bool] = {}
    undeclared: dict[str, bool] = {}
    for judge in judges(sample):
        units = count(judge, sample, True) <= MAX_CLAIMS_WITH_UNITS
        for claim in judge.claims(reductions(sample), units):
            declared = [judge.matches(mesh, claim) for mesh in MESHES]
            valid = [judge.valid(mesh, claim) for mesh in MESHES]
            for mesh, claimed, true in zip(MESHES, declared, valid, strict=True):
                assert true or not claimed, f"unsound on {mesh.shape}: {text(claim)}"
            key = text(claim)
            holds[key] = holds.get(key, True) and all(valid)
            missing = not all(declared) and exception(sample, claim) is None
            undeclared[key] = undeclared.get(key, False) or missing
    found = [key for key in holds if holds[key] and undeclared[key]]
    assert not found, f"valid on every case, not declared: {found}"


@pytest.mark.parametrize("name", SAMPLES)
def test_declared_rows_are_what_matches(name: str) -> None:
    """Each row, without units, is accepted where its boundaries agree; a row for
    even sizes is always accepted."""
    for judge in judges(SAMPLES[name]):
        rows = judge.rows()
        assert on_axis(*[R] * (len(judge.case.operands) + 1)) == rows[0]
        assert len({text(r) for r in rows}) == len(rows)
        for mesh in MESHES:
            for row in rows:
                if judge.matches(mesh, row):
                    assert judge.valid(mesh, row), text(row)


@pytest.mark.parametrize("name", SAMPLES)
def test_two_axes_are_sound(name: str) -> None:
    """Rows of two axes together, the inner axis uneven."""
    sample = SAMPLES[name]
    for judge in judges(sample)[:2]:
        rows = judge.rows()
        for mesh in (mesh_of(2, 2), mesh_of(2, 3)):
            accepted = 0
            for outer, inner in itertools.product(rows, rows):
                claim = tuple((a[0], b[0]) for a, b in zip(outer, inner, strict=True))
                if mixes_reductions(claim):
                    continue  # sums of maxima have no value to compare
                if judge.matches(mesh, claim):
                    accepted += 1
                    assert judge.valid(mesh, claim), f"{mesh.shape}: {text(claim)}"
            assert accepted >= len(rows)


def mixes_reductions(claim: Claim) -> bool:
    return any(len({p.reduce for p in ps if p.kind == "P"}) > 1 for ps in claim)


def judge_of(op: str, operands: list[Operand], **attrs: object) -> Judge:
    return Judge(op, Case(tuple(operands), dict(attrs)), generator(op))


WRONG = {
    "softmax over a sharded dim": (
        judge_of("softmax", [f(3, 6)], dim=1),
        on_axis(shard(1), shard(1)),
    ),
    "rms_norm over a sharded dim": (
        judge_of("rms_norm", [f(3, 6), Operand((), values="scalar", limit=1e-3)], dims=[1]),
        on_axis(shard(1), R, shard(1)),
    ),
    "a contraction forgotten": (
        judge_of("matmul", [f(4, 6), f(6, 4)]),
        on_axis(shard(1), shard(0), R),
    ),
    "a contraction of one side only": (
        judge_of("linear", [f(4, 6), f(4, 6)]),
        on_axis(shard(1), R, P),
    ),
    "a product of two sums": (
        judge_of("binary", [f(4, 6), f(4, 6)], kind="mul"),
        on_axis(P, P, P),
    ),
    "a bias added on every device": (
        judge_of("binary", [f(4, 6), f(6)], kind="add"),
        on_axis(P, R, P),
    ),
    "a maximum taken as a sum": (
        judge_of("reduce", [f(4, 6)], kind="amax", dims=[1], keepdim=False),
        on_axis(shard(1), P),
    ),
    "a sum taken as a maximum": (
        judge_of("reduce", [f(4, 6)], kind="sum", dims=[1], keepdim=False),
        on_axis(shard(1), PMAX),
    ),
    "a pending sum through exp": (
        judge_of("unary", [f(4, 6)], kind="exp"),
        on_axis(P, P),
    ),
    "a pending maximum through neg": (
        judge_of("unary", [f(4, 6)], kind="neg"),
        on_axis(PMAX, PMAX),
    ),
    "a pending sum through a narrowing cast": (
        judge_of("cast", [f(4, 6)], dtype="int64"),
        on_axis(P, R),
    ),
    "the minor factor of a view": (
        judge_of("view", [f(4, 6)], shape=[4, 3, 2]),
        on_axis(shard(1), shard(2)),
    ),
    "uneven heads without a unit": (
        judge_of("view", [f(2, 12)], shape=[2, 3, 4]),
        on_axis(shard(1), shard(1)),
    ),
    "a permute that forgets the dim": (
        judge_of("permute", [f(4, 4)], dims=[1, 0]),
        on_axis(shard(0), shard(0)),
    ),
    "attention over its own keys only": (
        judge_of(
            "sdpa",
            [f(1, 2, 4, 2), f(1, 2, 4, 2), f(1, 2, 4, 2), Operand((), values="scalar", limit=1.0)],
            is_causal=True,
        ),
        on_axis(shard(2), shard(2), shard(2), R, shard(2)),
    ),
    "attention linear in its queries": (
        judge_of(
            "sdpa",
            [f(1, 2, 4, 2), f(1, 2, 4, 2), f(1, 2, 4, 2), Operand((), values="scalar", limit=1.0)],
            is_causal=False,
        ),
        on_axis(P, R, R, R, P),
    ),
    "a vocabulary shard without its sum": (
        judge_of("embedding", [f(6, 4), Operand((5,), "int64", "index", 6)]),
        on_axis(shard(0), R, R),
    ),
    "a slice of a sharded dim": (
        judge_of("slice", [f(6)], starts=[0], stops=[3], steps=[1]),
        on_axis(shard(0), shard(0)),
    ),
    "a concatenation of shards": (
        judge_of("cat", [f(4), f(4)], dim=0),
        on_axis(shard(0), shard(0), shard(0)),
    ),
    "random numbers numbered per device": (
        judge_of(
            "random",
            [Operand((), "int64", "scalar", 3), Operand((), "int64", "scalar", 0)],
            kind="normal",
            shape=[6],
            dtype="float32",
        ),
        on_axis(R, R, P),
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_rules_are_caught(name: str) -> None:
    """Rules planted on purpose: brute force rejects them, and so does the engine."""
    judge, claim = WRONG[name]
    assert not judge.valid(mesh_of(2), claim)
    assert not judge.matches(mesh_of(2), claim)


@pytest.mark.parametrize(
    ("name", "claim", "answer", "message"),
    [
        ("add", on_axis(shard(0), shard(0), shard(0)), False, "not declared"),
        ("add", on_axis(P, P, P), False, "not declared"),
        ("matmul", on_axis(shard(1), shard(0), P), False, "not declared"),
        ("add", on_axis(P, R, P), True, "unsound"),
        ("softmax_1", on_axis(shard(1), shard(1)), True, "unsound"),
    ],
)
def test_a_rule_changed_by_one_row_is_caught(
    monkeypatch: pytest.MonkeyPatch, name: str, claim: Claim, answer: bool, message: str
) -> None:
    """The test of soundness and completeness notices one row too few or too many."""
    honest = Judge.matches
    monkeypatch.setattr(
        Judge, "matches", lambda self, mesh, c: answer if c == claim else honest(self, mesh, c)
    )
    with pytest.raises(AssertionError, match=message):
        test_rule_is_sound_and_complete(name)


def test_the_judge_accepts_what_is_right() -> None:
    """It does not reject everything: the right forms of some wrong rules pass."""
    mesh = mesh_of(2)
    assert judge_of("matmul", [f(4, 6), f(6, 4)]).valid(mesh, on_axis(shard(1), shard(0), P))
    assert judge_of("binary", [f(4, 6), f(6)], kind="add").valid(mesh, on_axis(P, P, P))
    heads = judge_of("view", [f(2, 12)], shape=[2, 3, 4])
    assert heads.valid(mesh, on_axis(shard(1, 4), shard(1)))
    assert heads.matches(mesh, on_axis(shard(1, 4), shard(1)))
    amax = judge_of("reduce", [f(4, 6)], kind="amax", dims=[1], keepdim=False)
    assert amax.valid(mesh, on_axis(shard(1), PMAX))


def test_a_causal_mask_without_offset_is_caught() -> None:
    """Q S(2), K/V R: rows 3 to 5 masked as if they were 0 to 2 are far off."""
    shape = (1, 2, 6, 4)
    scale = Operand((), values="scalar", limit=1.0)
    judge = judge_of("sdpa", [f(*shape), f(*shape), f(*shape), scale], is_causal=True)
    values, expected = judge.inputs[0], judge.expected[0][:, :, 3:]
    whole = ((0, 0, 0, 0), shape)

    def second_half(start: int) -> np.ndarray:
        rows = ((0, 0, start, 0), (1, 2, 3, 4))
        return judge.run([values[0][:, :, 3:], *values[1:]], [rows, whole, whole, ((), ()), rows])

    np.testing.assert_allclose(second_half(3), expected, rtol=1e-5, atol=1e-6)
    assert np.abs(second_half(0) - expected).max() > 0.05


def test_empty_shards_and_pending_sums_take_part() -> None:
    """One row over three devices: two hold nothing, and the sum is still right."""
    judge = judge_of("reduce", [f(1, 4)], kind="sum", dims=[0], keepdim=False)
    assert judge.valid(mesh_of(3), on_axis(shard(0), P))
    softmax = judge_of("softmax", [f(1, 4)], dim=1)
    assert softmax.valid(mesh_of(3), on_axis(shard(0), shard(0)))
