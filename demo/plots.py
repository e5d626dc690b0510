"""The plots of the page, as PNG files."""

import os
import statistics

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402: the backend comes first.

COLOURS = {"Ambo column": "#0f766e", "Ambo btree": "#5eb5ac", "SQLite": "#94a3b8", "DuckDB": "#f59e0b"}
INK, SOFT = "#0f172a", "#64748b"
pyplot.rcParams.update(
    {
        "font.family": "sans-serif",
        "font.sans-serif": ["Inter", "Helvetica Neue", "Arial", "DejaVu Sans"],
        "font.size": 9,
        "text.color": INK,
        "axes.edgecolor": "#cbd5e1",
        "axes.labelcolor": SOFT,
        "axes.titlesize": 10,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "xtick.color": SOFT,
        "ytick.color": INK,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "figure.dpi": 160,
    }
)


def save(figure, directory, name):
    path = os.path.join(directory, f"report-{name}.png")
    figure.savefig(path, facecolor="white", bbox_inches="tight", pad_inches=0.1)
    pyplot.close(figure)


def bars(axis, title, labels, values, texts, is_less):
    """Bars on a scale from zero, with what they are behind them. A bar that is far longer than the rest is cut, and says so."""
    ordered = sorted(values)
    cut = max(ordered[len(ordered) // 2 - 1] * 6, ordered[0] * 12) if is_less else ordered[-1]
    top = min(ordered[-1], cut) or 1
    for place, (label, value, text) in enumerate(zip(labels, values, texts)):
        is_cut = value > top
        axis.barh(place, min(value, top), color=COLOURS.get(label, SOFT), height=0.72)
        if is_cut:
            axis.plot([top * 0.93, top * 0.96], [place - 0.45, place + 0.45], color="white", lw=3)
        axis.text(top * 1.02 if is_cut else value + top * 0.02, place, text, va="center", fontsize=8.5, color=INK)
    axis.set_title(title)
    axis.set_yticks(range(len(labels)), labels)
    axis.invert_yaxis()
    axis.set_xlim(0, top * 1.32)
    axis.set_xticks([])
    axis.spines["bottom"].set_visible(False)
    axis.tick_params(axis="y", length=0)
    axis.text(1, 1.02, "less is better" if is_less else "more is better", transform=axis.transAxes, ha="right", fontsize=7.5, color=SOFT)


TITLES = {
    "Load all files, in tables with keys": "Load",
    "Size on disk then": "Size on disk",
    "Read a row by its key": "Read a row by key",
    "Change a row and commit, not waiting for the disk": "Change a row, no sync",
    "Change a row and commit to the disk": "Change a row, to disk",
    "Six dashboards, one after the other": "Six dashboards",
    "All at once: bookings": "At once: bookings",
    "All at once: rows read by key": "At once: reads by key",
    "All at once: dashboards": "At once: dashboards",
}


def steps(comparison, directory):
    figure, axes = pyplot.subplots(3, 3, figsize=(11, 6.2), layout="constrained")
    figure.get_layout_engine().set(hspace=0.07)
    for axis, (name, values, texts, *_) in zip(axes.flat, comparison.rows()):
        bars(axis, TITLES[name], comparison.labels, values, texts, is_less="At once" not in TITLES[name])
    save(figure, directory, "steps")


def dashboards(comparison, plan, directory):
    figure, axis = pyplot.subplots(figsize=(11, 3.4), layout="constrained")
    width = 0.8 / len(comparison.engines)
    for number, (label, engine) in enumerate(zip(comparison.labels, comparison.engines)):
        times = [statistics.median(dashboard["seconds"]) * 1e3 for dashboard in engine["dashboards"]]
        places = [place - 0.4 + width * (number + 0.5) for place in range(len(times))]
        drawn = axis.bar(places, times, width * 0.92, color=COLOURS.get(label, SOFT), label=label)
        axis.bar_label(drawn, [f"{time:.0f}" if time >= 10 else f"{time:.1f}" for time in times], fontsize=7.5, padding=1.5)
    axis.set_yscale("log")
    axis.set_ylabel("milliseconds, each line ten times the last")
    axis.set_xticks(range(len(plan["dashboards"])), [dashboard["name"] for dashboard in plan["dashboards"]])
    axis.tick_params(axis="x", length=0, labelcolor=INK)
    axis.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.grid(axis="y", color="#e2e8f0", lw=0.7)
    axis.set_axisbelow(True)
    axis.legend(frameon=False, ncols=len(comparison.engines), loc="lower right", bbox_to_anchor=(1, 1))
    save(figure, directory, "dashboards")


def online(tour, directory):
    samples = tour["online"]["samples"]
    times = [sample[0] for sample in samples[1:]]
    figure, axes = pyplot.subplots(2, 1, figsize=(11, 3.6), sharex=True, layout="constrained")
    for axis, place, title, colour in zip(axes, (1, 2), ("point reads a second", "bookings a second, to the disk"), ("#0f766e", "#b45309")):
        rates = [(after[place] - before[place]) / (after[0] - before[0]) for before, after in zip(samples, samples[1:])]
        axis.plot(times, rates, color=colour, lw=1.6)
        axis.fill_between(times, rates, color=colour, alpha=0.12)
        axis.set_title(title)
        axis.set_ylim(0, max(rates, default=1) * 1.15 or 1)
        axis.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        for change in tour["online"]["changes"]:
            axis.axvspan(change["from"], change["until"], color="#e2e8f0", zorder=0)
    for change in tour["online"]["changes"]:
        axes[0].text((change["from"] + change["until"]) / 2, axes[0].get_ylim()[1] * 0.97, f"to {change['to']}", ha="center", va="top", fontsize=8.5)
    axes[1].set_xlabel("seconds")
    axes[1].set_xlim(0, max(times, default=1))
    save(figure, directory, "online")


def draw(comparison, figures, directory):
    """Draws all of them."""
    steps(comparison, directory)
    dashboards(comparison, figures["plan"], directory)
    online(figures["tour"], directory)
