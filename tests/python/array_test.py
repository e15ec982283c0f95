"""xgrad.Variable as an array: what PyTorch and NumPy let one write, with the values and gradients of PyTorch."""

import ast
import copy
import pathlib
import pickle

import numpy as np
import pytest
import torch

import xgrad

RANDOM = np.random.default_rng(1)
A = RANDOM.normal(size=(3, 4, 5))
# Each in the words that xgrad and PyTorch share.
SAME = [
    lambda x: x[0], lambda x: x[-1], lambda x: x[1, 2], lambda x: x[1, 2, 3], lambda x: x[np.int64(1)], lambda x: x[:, 1:], lambda x: x[:, :-1],
    lambda x: x[..., 2], lambda x: x[1:, ..., 2:4], lambda x: x[:, None], lambda x: x[None, 1, ..., None], lambda x: x[:], lambda x: x[()],
    lambda x: x[0][1:][-1], lambda x: x[:, ::2], lambda x: x[[2, 0, 2]], lambda x: x[:, [1, 1]], lambda x: x[[0, 1], [2, 3]],
    lambda x: x[np.array([True, False, True])], lambda x: x.reshape(3, -1), lambda x: x.reshape((2, -1)), lambda x: x.view(60),
    lambda x: x.reshape(-1), lambda x: x.permute(2, 0, 1), lambda x: x.permute((2, 0, 1)), lambda x: x.transpose(1, 2),
    lambda x: x.transpose(-1, 0), lambda x: x[0].T, lambda x: x.sum(), lambda x: x.sum(1), lambda x: x.sum(axis=-1, keepdims=True),
    lambda x: x.mean(), lambda x: x.mean(axis=0), lambda x: x.mean(-2, keepdims=True), lambda x: x.exp().log(), lambda x: x.tanh() * x.relu(),
    lambda x: (x * x).sqrt(), lambda x: x.sigmoid().clamp(0.3, 0.6), lambda x: x.matmul(x[0].T), lambda x: x.max(), lambda x: x.reshape(-1).max(),
]


@pytest.mark.parametrize("number", range(len(SAME)))
def test_values_and_gradients_of_pytorch(number):
    f = SAME[number]
    x, z = xgrad.Variable(A, requires_grad=True), torch.tensor(A, requires_grad=True)
    y, expected = f(x), f(z)
    assert y.shape == tuple(expected.shape)
    np.testing.assert_allclose(y.value, expected.detach(), 1e-12)
    dy = np.random.default_rng(2).normal(size=y.shape)
    y.backward(dy)
    expected.backward(torch.tensor(dy))
    np.testing.assert_allclose(x.grad, z.grad, 1e-10, 1e-12)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("keepdims", [False, True])
def test_max_along_an_axis(axis, keepdims):
    a = A.round()  # with ties
    x, z = xgrad.Variable(a, requires_grad=True), torch.tensor(a, requires_grad=True)
    y, expected = xgrad.max(x, axis, keepdims=keepdims), z.max(axis, keepdim=keepdims).values
    np.testing.assert_array_equal(y.value, expected.detach())
    np.testing.assert_array_equal(x.max(axis=axis, keepdims=keepdims).value, y.value)
    np.testing.assert_array_equal(np.argmax(a, axis), x.argmax(axis))
    (y * y).sum().backward()
    (expected * expected).sum().backward()
    kept = np.take_along_axis(x.grad, np.expand_dims(np.argmax(a, axis), axis), axis)  # PyTorch may take another one of equal ones
    np.testing.assert_allclose(kept.squeeze(axis), 2 * a.max(axis))
    np.testing.assert_allclose(x.grad.sum(axis), z.grad.sum(axis))
    assert xgrad.max(a, keepdims=True).shape == (1, 1, 1) and xgrad.sum(a, keepdims=True).shape == (1, 1, 1)


def test_other_indices():
    x = xgrad.Variable(A)
    for index in ((slice(None), slice(None, None, -1)), (slice(3, 1),), (A[:, 0, 0] > 0, 1), ([], )):
        np.testing.assert_array_equal(x[index].value, A[index])
    for wrong, message in ((3, "index 3 is out of bounds for axis 0 with size 3"), ((0, 0, 0, 0), "too many indices"), ("a", "only integers")):
        with pytest.raises(IndexError, match=message):
            x[wrong]
    with pytest.raises(TypeError, match="item assignment"):
        x[0] = 1


def test_sizes():
    x = xgrad.Variable(A)
    assert (len(x), x.ndim, x.size) == (3, 3, 60) and [row.shape for row in x] == [(4, 5)] * 3
    assert x.numpy().tolist() == x.tolist() == A.tolist()
    with pytest.raises(TypeError, match="len"):
        len(x.sum())
    with pytest.raises(xgrad.ShapeError, match=r"no size in place of -1 gives the 60 elements of \(3, 4, 5\)"):
        x.reshape(7, -1)
    for wrong in ((-1, -1), (-2, 30)):
        with pytest.raises(xgrad.ShapeError, match="-1 at most once"):
            xgrad.reshape(x, wrong)


def test_functions_of_numpy_that_call_methods():
    x = xgrad.Variable(A)
    for f in (np.sum, np.mean, np.max, np.argmax, np.transpose, lambda x: np.reshape(x, (-1,)), lambda x: np.sum(x, axis=1, keepdims=True),
              lambda x: np.mean(x, 0), lambda x: np.take(x, [1], 0), np.std):
        np.testing.assert_allclose(np.asarray(f(x)), f(A), 1e-12)
    with pytest.raises(TypeError, match="sum: a Variable takes no dtype and no out"):
        x.sum(dtype="float32")


def test_numbers():
    loss = xgrad.Variable(np.float32(1.2345678))
    assert float(loss) == loss.item() == np.float32(1.2345678) and int(loss) == 1 and f"{loss:.3f} {loss}" == f"1.235 {np.float32(1.2345678).item()}"
    assert bool(loss) and not xgrad.Variable([0.0])
    x = xgrad.Variable([1.0, 2.0])
    for call in (lambda: float(x), lambda: bool(x)):
        with pytest.raises(ValueError, match="array"):
            call()
    with pytest.raises(TypeError, match="Variable"):
        f"{x:.3f}"
    assert repr(xgrad.Variable([1.0], requires_grad=True)) == "xgrad.Variable(array([1.]), requires_grad=True)" == f"{xgrad.Variable([1.0], True)}"


def test_comparisons_are_arrays():
    x, y = xgrad.Variable([1.0, 2.0, 3.0]), xgrad.Variable([3.0, 2.0, 1.0])
    for found, expected in ((x == y, [0, 1, 0]), (x != y, [1, 0, 1]), (x < y, [1, 0, 0]), (x <= 2, [1, 1, 0]), (x > y.value, [0, 0, 1]),
                            (y.value >= x, [1, 1, 0]), (2 < x, [0, 0, 1])):
        assert isinstance(found, np.ndarray) and found.dtype == bool and found.tolist() == [bool(one) for one in expected]
    assert (x == None) is False and len({x, y, x}) == 2  # noqa: E711
    assert (xgrad.where(x > 1, x, 0 * x).value == [0, 2, 3]).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_copies(dtype):
    x = xgrad.Variable(A.astype(dtype), requires_grad=True)
    for y in (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy(x), copy.deepcopy([x])[0]):
        assert y is not x and y.requires_grad and y.dtype == dtype and (y == x).all() and not np.shares_memory(y.value, x.value)
    assert not pickle.loads(pickle.dumps(x.detach())).requires_grad
    with pytest.raises(xgrad.GradientError, match="detach"):
        copy.deepcopy(x * x)


def test_messages_are_in_the_words_of_python():
    x = xgrad.Variable([1.0], requires_grad=True)
    y = x.exp() * x
    x.value = [2.0]
    with pytest.raises(xgrad.GradientError) as error:
        y.backward()
    assert str(error.value) == "backward: a value that 'mul' needs was changed after its forward"
    for gradient, message in ((None, r"backward: expected a gradient of shape \(2\), since this Variable does not have one element"),
                              ([1.0], r"backward: expected a gradient of shape \(2\), got \(1\)")):
        with pytest.raises(xgrad.ShapeError, match=message):
            (2 * xgrad.Variable([1.0, 2.0], requires_grad=True)).backward(gradient)
    with pytest.raises(xgrad.GradientError, match=r"value: this is the result of an op, which backward\(\) may need"):
        y.value = [1.0]


def test_the_stubs_name_every_method():
    stubs = ast.parse((pathlib.Path(xgrad.__file__).parent / "_core.pyi").read_text())
    variable = next(node for node in stubs.body if isinstance(node, ast.ClassDef) and node.name == "Variable")
    named = {node.name for node in variable.body if isinstance(node, ast.FunctionDef)}
    methods = {name for name, value in vars(xgrad.Variable).items() if callable(value) or isinstance(value, property)}
    assert {"sum", "exp", "max", "T"} <= methods and methods - {"__new__", "__doc__", "__reduce__", "__init__"} <= named | {"__array_ufunc__"}
