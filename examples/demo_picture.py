"""The picture of a finished training: the loss curve, and the learned weights as a person can read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from demo_data import Array, Dataset
from matplotlib import colormaps
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import Normalize
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import LogLocator, NullLocator

DIVERGING = "RdBu_r"
TRAIN_COLOUR, TEST_COLOUR = "#33658a", "#d1495b"


@dataclass(frozen=True, slots=True)
class History:
    """The state at the end of training.

    Attributes
    ----------
    steps : Sequence[int]
        The steps at which the losses were taken.
    train_loss, test_loss : Sequence[float]
        Mean cross-entropy over the training and the test examples, one value for each of ``steps``.
    train_accuracy, test_accuracy : float
        Share of the examples that are answered rightly at the end.
    """

    steps: Sequence[int]
    train_loss: Sequence[float]
    test_loss: Sequence[float]
    train_accuracy: float
    test_accuracy: float


def draw(path: Path, data: Dataset, history: History, weights: Array) -> None:
    """Write the picture.

    Parameters
    ----------
    path : Path
        File to write; its suffix says the format.
    data : Dataset
        The learnt weights.
    history : History
        How the losses went.
    weights : Float[features, questions]
        The learned weights.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    figure = Figure(figsize=(14, 5.6))
    figure.set_layout_engine("constrained", w_pad=0.1, h_pad=0.08)
    FigureCanvasAgg(figure)
    figure.suptitle(
        f"Logistic regression on {data.name}: accuracy {history.train_accuracy:.1%} in training, "
        f"{history.test_accuracy:.1%} on unseen examples",
        fontsize=14,
    )
    halves: Any = figure.subfigures(1, 2, width_ratios=[1, 1.7])
    left, right = halves
    _draw_losses(left, history)
    if data.picture_shape is not None:
        _draw_weight_pictures(right, data, data.picture_shape, weights)
    else:
        _draw_weight_bars(right, data, weights[:, 0])
    figure.savefig(path, dpi=110)


def suffixes() -> list[str]:
    """Return the file suffixes that `draw` can write, such as ``".png"``."""
    return sorted("." + name for name in Figure().canvas.get_supported_filetypes())


def _draw_losses(figure: SubFigure, history: History) -> None:
    axes = figure.subplots()
    axes.plot(history.steps, history.train_loss, color=TRAIN_COLOUR, linewidth=2, label="training examples")
    axes.plot(history.steps, history.test_loss, color=TEST_COLOUR, linewidth=2, linestyle="--", label="test examples")
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_locator(NullLocator())
    axes.set_title("Loss")
    axes.set_xlabel("training step")
    axes.set_ylabel("cross-entropy per example")
    axes.grid(visible=True, which="both", alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)


def _draw_weight_pictures(figure: SubFigure, data: Dataset, shape: tuple[int, int], weights: Array) -> None:
    """Show one picture a question, all on one colour scale around zero so that they can be compared."""
    rows, columns = 2, -(-len(data.question_names) // 2)
    panels = np.ravel(figure.subplots(rows, columns, squeeze=False))
    limit = float(np.abs(weights).max())
    for panel in panels:
        panel.set_axis_off()
    for panel, name, column in zip(panels, data.question_names, weights.T, strict=False):
        image = panel.imshow(column.reshape(shape), cmap=DIVERGING, vmin=-limit, vmax=limit)
        panel.set_title(f'is it a "{name}"?', fontsize=11)
    figure.suptitle("Weights, pixel by pixel")
    bar = figure.colorbar(image, ax=list(panels), location="bottom", shrink=0.6, aspect=40)
    bar.set_label("ink here speaks against  ←  weight  →  for the digit")


def _draw_weight_bars(figure: SubFigure, data: Dataset, weights: Array) -> None:
    """Show one bar a feature, the strongest at the top."""
    order = np.argsort(np.abs(weights))
    values = weights[order]
    limit = float(np.abs(weights).max())
    axes = figure.subplots()
    axes.barh(
        np.arange(len(values)), values, color=_diverging_colours(values, limit), edgecolor="#777777", linewidth=0.4
    )
    axes.set_yticks(np.arange(len(values)), [data.feature_names[i] for i in order], fontsize=7.5)
    axes.set_ylim(-0.7, len(values) - 0.3)
    axes.axvline(0, color="#444444", linewidth=0.8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(visible=True, axis="x", alpha=0.25)
    axes.set_title(f"Weights of the standardised measurements: is it {data.question_names[0]}?")
    axes.set_xlabel("speaks against  ←  weight  →  speaks for")


def _diverging_colours(values: Array, limit: float) -> Array:
    colours: Array = colormaps[DIVERGING](Normalize(-limit, limit)(values))
    return colours
