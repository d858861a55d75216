"""Finding mistakes: messages, test values, prints inside a function, monitors, guards, profiles and saved functions.

Run ``python examples/chapter_debugging.py``; every statement about the results is checked.
"""

from __future__ import annotations

import io
import pickle
import tempfile
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano.compile import MonitorMode, NanGuardMode
from theano.misc import pkl_utils


def failing(run: Any, *args: Any) -> Exception:
    """Return the exception that a call raises."""
    try:
        run(*args)
    except Exception as error:  # noqa: BLE001  # any error is looked at
        return error
    raise AssertionError("it should have failed")


def messages() -> None:
    """An error at run time names the op, the user's variables, their shapes, and the line that made them."""
    heights, weights = T.dvectors("heights", "weights")
    bmi = theano.function([heights, weights], weights / heights**2)
    error = failing(bmi, np.ones(4), np.ones(3))
    assert type(error) is ValueError
    text = str(error)
    for part in ("Input dimension mis-match", "`heights`", "`weights`", "(4,)", "(3,)", "chapter_debugging.py:"):
        assert part in text, (part, text)
    assert "Debugprint" not in text
    with theano.config.change_flags(exception_verbosity="high"):
        text = str(failing(bmi, np.ones(4), np.ones(3)))
    assert "Debugprint" in text
    assert "Storage map" in text
    lengths = [cell[0].shape for cell in bmi.fn.thunks[bmi.fn.position_of_error].inputs]
    assert sorted(lengths) == [(3,), (4,)]


def test_values() -> None:
    """With test values a mistake shows at the line that makes it."""
    with theano.config.change_flags(compute_test_value="raise"):
        pixels = T.dmatrix("pixels")
        pixels.tag.test_value = np.ones((5, 10))
        weights = theano.shared(np.ones((20, 10)), name="weights")
        right = T.dot(pixels, weights.T)
        assert right.tag.test_value.shape == (5, 20)
        wrong = failing(T.dot, pixels, weights)
        assert isinstance(wrong, ValueError), wrong
        assert failing(lambda: T.dmatrix("bare") + 1) is not None
    with theano.config.change_flags(compute_test_value="ignore"):
        assert not hasattr((T.dmatrix("bare") + 1).tag, "test_value")


def prints() -> None:
    """``Print`` shows the values that flow through it."""
    speed = T.dscalar("speed")
    seen = io.StringIO()
    with redirect_stdout(seen):
        energy = theano.function([speed], theano.printing.Print("speed is")(speed) ** 2 / 2)(3.0)
    assert float(energy) == 4.5
    assert seen.getvalue() == "speed is __str__ = 3.0\n"

    a = T.dvector("a")
    total = theano.function([a], (a * 2).sum())
    text = str(theano.printing.debugprint(total, file="str"))
    assert "[id A]" in text
    assert "a [id" in text
    assert theano.printing.pprint(T.dot(a, a) + 1).startswith("((a \\dot a) + ")


def monitors() -> None:
    """A monitor sees every node before and after it runs."""
    records: list[tuple[int, list[Any]]] = []

    def after(i: int, node: theano.Apply, fn: Any) -> None:
        records.append((i, [float(output[0]) for output in fn.outputs]))

    x = T.dscalar("x")
    mode = MonitorMode(post_func=after).excluding("local_elemwise_fusion", "inplace")
    log = theano.function([x], T.log(x) * x, mode=mode)
    with np.errstate(all="ignore"):
        log(0.0)
    assert any(np.isnan(value) for _, values in records for value in values)

    guarded = theano.function([x], T.log(x) * x, mode=NanGuardMode(nan_is_error=True, inf_is_error=True))
    assert np.isclose(guarded(1.0), 0.0)
    with np.errstate(all="ignore"):
        assert failing(guarded, -1.0) is not None


def profiles() -> None:
    """A function that is profiled tells how long each op took."""
    x = T.dmatrix("x")
    f: Any = theano.function([x], T.dot(x, x.T).sum(), profile=True, name="gram")
    f(np.ones((8, 3)))
    report = io.StringIO()
    f.profile.summary(file=report)
    for part in ("Function profiling", "Message: gram", "Time in 1 calls to Function.__call__", "Ops\n---", "Apply\n-"):
        assert part in report.getvalue(), part


def saving() -> None:
    """Functions, graphs and parameters are saved with pickle, or as an archive that NumPy reads alone."""
    rate = theano.shared(np.float64(0.5), name="rate")
    x = T.dvector("x")
    grow = theano.function([x], x * rate, updates=[(rate, rate * 2)])
    twin = pickle.loads(pickle.dumps(grow, protocol=pickle.HIGHEST_PROTOCOL))
    np.testing.assert_array_equal(grow([2.0]), [1.0])
    np.testing.assert_array_equal(twin([2.0]), [1.0])
    np.testing.assert_array_equal(twin([2.0]), [2.0])
    assert float(rate.get_value()) == 1.0

    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "model.zip"
        with archive.open("wb") as out:
            pkl_utils.dump((rate, theano.shared(np.arange(3.0), name="bias")), out)
        with archive.open("rb") as inp:
            found_rate, bias = pkl_utils.load(inp)
        assert float(found_rate.get_value()) == 1.0
        np.testing.assert_array_equal(np.load(archive)["bias"], [0.0, 1.0, 2.0])
        assert bias.name == "bias"

        dumped = Path(folder) / "function.pkl"
        theano.function_dump(str(dumped), [x], x * rate)
        with dumped.open("rb") as inp:
            again = theano.function(**pickle.load(inp))
        np.testing.assert_array_equal(again([3.0]), [3.0])


def main() -> None:
    messages()
    test_values()
    prints()
    monitors()
    profiles()
    saving()
    print("debugging: every mistake was told")


if __name__ == "__main__":
    main()
