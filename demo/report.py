"""Draws the page of the demo, from the figures of `ambo-tools demo` and of peers.py.

    report.py FIGURES PEERS DIRECTORY

Writes DIRECTORY/report.html, which needs no other file, and where matplotlib is there the plots as DIRECTORY/report-*.png, too.
"""

import base64
import html
import json
import os
import platform
import statistics
import sys

try:
    import plots
except ImportError as error:
    plots, plots_missing = None, f"There are no plots: matplotlib could not be installed ({error})."

EVEN = 1.05  # Less of a difference than this is none.
UNFAIR = 1.5  # Bare syncs that differ by more than this were not of the same disk, so to speak.
DURABLE = "Change a row and commit to the disk"


def label(engine):
    return f"{engine['name']} {engine['storage']}" if engine["storage"] else engine["name"]


def median_total(engine):
    return sum(statistics.median(dashboard["seconds"]) for dashboard in engine["dashboards"])


def rate(engine, what):
    return engine["together"][what] / engine["together"]["seconds"]


def micros(value):
    return f"{value:,.1f} µs" if value < 100 else f"{value:,.0f} µs" if value < 1000 else f"{value / 1000:,.2f} ms"


def millis(value):
    return f"{value * 1e3:,.1f} ms" if value < 1 else f"{value:,.2f} s"


def seconds(value):
    return f"{value:,.2f} s"


def megabytes(value):
    return f"{value / 1e6:,.1f} MB"


def per_second(value):
    return f"{value:,.0f} /s" if value >= 100 else f"{value:,.1f} /s"


# What is compared: name, the figure, how it is written, whether less is better.
ROWS = [
    ("Load all files, in tables with keys", lambda e: e["load"]["seconds"], seconds, True),
    ("Size on disk then", lambda e: e["bytes"], megabytes, True),
    ("Read a row by its key", lambda e: e["points"]["p50_us"], micros, True),
    ("Change a row and commit, not waiting for the disk", lambda e: e["updates"]["off"]["p50_us"], micros, True),
    (DURABLE, lambda e: e["updates"]["durable"]["p10_us"], micros, True),
    ("Six dashboards, one after the other", median_total, millis, True),
    ("All at once: bookings", lambda e: rate(e, "booked"), per_second, False),
    ("All at once: rows read by key", lambda e: rate(e, "reads"), per_second, False),
    ("All at once: dashboards", lambda e: rate(e, "dashboards"), per_second, False),
]

# Of these a call from Python is a large part.
SINGLE = ("Read a row by its key", "Change a row and commit, not waiting for the disk")


class Comparison:
    """All engines side by side; the first is Ambo with column tables, which is compared with the others' best."""

    def __init__(self, figures, peers):
        self.engines = figures["engines"] + peers["engines"]
        self.peers = peers["engines"]
        self.labels = [label(engine) for engine in self.engines]

    def rows(self):
        """(name, value of each engine, text of each, who is ahead, whether that is Ambo)"""
        for name, figure, write, is_less in ROWS:
            values = [figure(engine) for engine in self.engines]
            verdict = self.uneven_disk() if name == DURABLE else None
            yield name, values, [write(value) for value in values], *(verdict or self.verdict(values, is_less))

    def uneven_disk(self):
        """A verdict if the disk by itself was much faster for one than for the other."""
        bare = [engine["updates"]["durable"]["bare_p10_us"] for engine in [self.engines[0], *self.peers]]
        if max(bare) > UNFAIR * min(bare):
            return "open: the disk varied", None
        return None

    def verdict(self, values, is_less):
        if not self.peers:
            return "nobody to compare with", None
        mine, others = values[0], values[-len(self.peers) :]
        best = min(others) if is_less else max(others)
        who = self.peers[others.index(best)]["name"]
        ratio = (best / mine if is_less else mine / best) if mine and best else float("inf")
        if 1 / EVEN < ratio < EVEN:
            return f"even with {who}", None
        factor = max(ratio, 1 / ratio if ratio else float("inf"))
        times = "∞" if factor == float("inf") else f"{factor:,.0f}" if factor >= 20 else f"{factor:.1f}"
        return (f"Ambo {times} × ({who})", True) if ratio > 1 else (f"{who} {times} ×", False)

    def answers(self):
        """For each dashboard, whether all engines gave the same answer."""
        for number, dashboard in enumerate(self.engines[0]["dashboards"]):
            rows = [engine["dashboards"][number]["rows"] for engine in self.engines]
            yield dashboard["name"], all(same(rows[0], other) for other in rows)


def same(one, other):
    if isinstance(one, list):
        return isinstance(other, list) and len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return abs(one - other) <= 1e-6 * max(abs(one), abs(other), 1)
    return str(one) == str(other)


def table(head, rows, classes=()):
    """An HTML table; cells are HTML."""
    cells = lambda tag, row: "".join(
        f"<{tag}{f' class={chr(34)}{classes[i]}{chr(34)}' if i < len(classes) and classes[i] else ''}>{cell}</{tag}>"
        for i, cell in enumerate(row)
    )
    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return f"<div class=scroll><table><thead><tr>{cells('th', head)}</tr></thead><tbody>{body}</tbody></table></div>"


def less_the_call(comparison, name, figure):
    """What a read or a change takes the others without what calling them from Python does, or less: some of that is the engine's own."""
    if name not in SINGLE:
        return ""
    parts = [f"{engine['name']} {micros(max(figure(engine) - engine['call']['p50_us'], 0))}" for engine in comparison.peers]
    return f"<small>less a call that reads nothing: {', '.join(parts)}</small>" if parts else ""


def compared(comparison):
    rows = []
    for name, values, texts, verdict, is_ours in comparison.rows():
        is_less = next(row[3] for row in ROWS if row[0] == name)
        best = min(values) if is_less else max(values)
        cells = [f"<b>{text}</b>" if value == best else text for value, text in zip(values, texts)]
        style = {True: "win", False: "lose", None: "even"}[is_ours]
        figure = next(row[1] for row in ROWS if row[0] == name)
        title = html.escape(name) + less_the_call(comparison, name, figure)
        rows.append([title, *cells, f"<span class={style}>{html.escape(verdict)}</span>"])
    classes = ["", *["num"] * len(comparison.labels), ""]
    return table(["", *comparison.labels, "Who is ahead"], rows, classes)


def dashboards(comparison, plan):
    answers = dict(comparison.answers())
    rows = []
    for number, dashboard in enumerate(plan["dashboards"]):
        times = [statistics.median(engine["dashboards"][number]["seconds"]) for engine in comparison.engines]
        verdict, is_ours = comparison.verdict(times, True)
        style = {True: "win", False: "lose", None: "even"}[is_ours]
        title = f"<details><summary>{html.escape(dashboard['title'])}</summary><pre>{html.escape(dashboard['sql'])}</pre></details>"
        cells = [f"<b>{millis(time)}</b>" if time == min(times) else millis(time) for time in times]
        agree = "same" if answers[dashboard["name"]] else "<span class=lose>differ</span>"
        rows.append([title, *cells, f"<span class={style}>{html.escape(verdict)}</span>", agree])
    return table(["", *comparison.labels, "Who is ahead", "Answers"], rows, ["", *["num"] * len(comparison.labels)])


def conflicts(comparison):
    def told(outcome):
        if not outcome["told"]:
            return "both commit"
        return f"at {outcome['at']}: <q>{html.escape(outcome['told'])}</q>"

    rows = [
        [name, told(engine["conflict"]["other_row"]), told(engine["conflict"]["same_row"])]
        for name, engine in zip(comparison.labels, comparison.engines)
    ]
    return table(["The second of two writers", "changes another row", "changes the same row"], rows)


def machine():
    try:
        with open("/proc/cpuinfo") as file:
            model = next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        model = platform.machine()
    return f"{model}, {os.cpu_count()} processors, {platform.system()} {platform.release().split('-')[0]}"


def online(tour):
    lines = [
        f"flights became <b>{change['to']}</b> in {seconds(change['until'] - change['from'])}" for change in tour["online"]["changes"]
    ]
    figures = tour["online"]
    lines += [
        f"{figures['reads']:,} point reads meanwhile, each with the right answer, the slowest in {millis(figures['slowest_read_seconds'])}",
        f"{figures['booked']:,} bookings meanwhile, all there afterwards, the slowest in {millis(figures['slowest_booking_seconds'])}; "
        f"conflicts, all retried: {figures['conflicts']}",
    ]
    return bullets(lines)


def death(tour):
    figures = tour["death"]
    cut = f"A torn commit, never acknowledged, was cut off: {html.escape(figures['cut'])}." if figures["cut"] else "Nothing was torn."
    return bullets(
        [
            f"{figures['acknowledged']:,} bookings acknowledged by a process with {figures['sellers']} threads, then <code>kill -9</code>",
            f"reopened in {millis(figures['reopen_seconds'])}: {figures['replayed']:,} transactions replayed from {megabytes(figures['log_bytes'])} of log. {cut}",
            f"every acknowledged booking found as it was made; {figures['unsaid']} more had committed and not yet said so",
            f"whole database verified in {millis(figures['check_seconds'])}: {html.escape(figures['check'])}, no problem",
        ]
    )


def bullets(lines):
    return "<ul>" + "".join(f"<li>{line}</li>" for line in lines) + "</ul>"


def method(comparison, plan):
    calls = ", ".join(f"{engine['name']} {micros(engine['call']['p50_us'])}" for engine in comparison.peers)
    ours = comparison.engines[0]["call"]["p50_us"]
    empty = max([engine["call"]["empty_us"] for engine in comparison.peers], default=0)
    parse = next((engine["load"]["parse_seconds"] for engine in comparison.peers if engine["name"] == "SQLite"), None)
    bare = ", ".join(f"{micros(engine['updates']['durable']['bare_p10_us'])} ({name})" for name, engine in zip(comparison.labels, comparison.engines))
    others = (
        f"<b>The others are driven from Python</b>, Ambo from Rust, in its own process; all times are taken around the call. A call with as many parameters and "
        f"columns as a point read that reads no table takes {calls}; that is Python and the engine's own work on a statement. Measuring adds {empty:.2f} µs. Ambo "
        f"has no short cut for such a statement: its planner takes {micros(ours)}. "
        "At once, the four threads of the others also share Python's interpreter lock while they are not inside of the engine."
    ) if comparison.peers else ""
    points, updates = plan["points"], plan["updates"]
    lines = [
        "One run, one machine, one engine after the other: repeat it with <code>make demo</code> before you trust a difference of some tenths.",
        f"Same rows, same random keys in the same order, same statements as text, {plan['threads']} threads for a query in Ambo and DuckDB "
        "(SQLite has one), same disk. To the disk means "
        "Ambo <code>sync = commit</code>, SQLite <code>synchronous = full</code> with write-ahead log, DuckDB as it comes; not waiting means "
        "<code>sync = off</code>, <code>synchronous = off</code>, <code>fsync_mode = 'NONE'</code>.",
        others,
        f"Point reads: {points['count']:,}, median of the fastest of {points['rounds']} rounds. Changes: {updates['off']['count']:,}, median; to the disk "
        f"{updates['durable']['count']:,} at each of {updates['durable']['rounds']} moments, of which the time is shown that a tenth stayed below, for a disk and its neighbours are not as fast at every "
        f"moment; a bare write and sync of 4 KiB took, in the same way, {bare}; where these differ by more than half, nobody is ahead. Dashboards: median of {plan['repeats']}, summed up. At once: {plan['bookers']} threads that book and cancel "
        f"(a SELECT, an UPDATE and an INSERT in a transaction, to the disk), one that reads by key, one that asks the dashboards and audits after each, for "
        f"{plan['seconds']:.0f} s; how an engine divides the machine among them is its own affair, so more of one may be less of another. A flight that another is booking is waited for in SQLite (<code>begin immediate</code>), tried again in Ambo and DuckDB.",
        "SQLite’s tables are clustered by key (<code>integer primary key</code>, <code>without rowid</code>) and analysed; its module has no reader for CSV: "
        + (f"Python parses the files, which alone takes {seconds(parse)} of its load. " if parse is not None else "")
        + "DuckDB’s key is an index beside the rows. Ambo’s btree tables hold rows in pages, its column tables encoded columns in segments; "
        "small tables are btree in both columns of this page.",
    ]
    return bullets(filter(None, lines))


def picture(directory, name, text):
    with open(os.path.join(directory, f"report-{name}.png"), "rb") as file:
        data = base64.b64encode(file.read()).decode()
    return f'<img alt="{html.escape(text)}" src="data:image/png;base64,{data}">'


STYLE = """
:root { color-scheme: light; --ink: #0f172a; --soft: #64748b; --line: #e2e8f0; --ours: #0f766e; --theirs: #b45309; }
* { box-sizing: border-box } body { font: 15px/1.5 system-ui, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; color: var(--ink); background: #f8fafc; margin: 0 }
main { max-width: 1060px; margin: 0 auto; padding: 32px 24px 64px } h1 { font-size: 30px; line-height: 1.2; margin: 0 0 4px; letter-spacing: -.02em }
h2 { font-size: 19px; margin: 0 0 10px; letter-spacing: -.01em } .lead { color: var(--soft); margin: 0 0 20px }
section { background: #fff; border: 1px solid var(--line); border-radius: 12px; padding: 20px 22px; margin: 18px 0 } img { width: 100%; display: block; margin: 8px 0 }
.scroll { overflow-x: auto } table { border-collapse: collapse; width: 100%; font-size: 14px } th { text-align: left; color: var(--soft); font-weight: 500 }
th, td { padding: 6px 10px; border-bottom: 1px solid var(--line); vertical-align: top } tr:last-child td { border-bottom: 0 } th:first-child, td:first-child { padding-left: 0 }
.num { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap } .win { color: var(--ours); font-weight: 600 } .lose { color: var(--theirs); font-weight: 600 }
.even { color: var(--soft) } .note { background: #fffbeb; border-color: #fde68a } ul { margin: 0; padding-left: 18px } li { margin: 4px 0 } pre { font-size: 12px; overflow-x: auto }
small { display: block; color: var(--soft); font-size: 12px } code { font-size: .92em; background: #f1f5f9; padding: 0 4px; border-radius: 4px } summary { cursor: pointer } .two { display: grid; grid-template-columns: 1fr 1fr; gap: 18px }
.two section { margin: 0 } @media (max-width: 760px) { .two { grid-template-columns: 1fr } }
"""


def page(figures, peers, directory):
    comparison, tour, plan = Comparison(figures, peers), figures["tour"], figures["plan"]
    verdicts = [row[4] for row in comparison.rows()]
    wins, losses = verdicts.count(True), verdicts.count(False)
    notes = [f"{html.escape(peer['name'])} is missing here: {html.escape(peer['why'])}." for peer in peers["missing"]]
    busy = figures["load_average"] or 0
    if busy > os.cpu_count() / 2:
        notes.append(f"The machine was busy with other things when this began (load average {busy:.1f}): do not trust these figures far, least those of syncs.")
    show = lambda name, text: picture(directory, name, text) if plots else ""
    if plots:
        plots.draw(comparison, figures, directory)
    else:
        notes.append(html.escape(plots_missing))
    versions = ", ".join(f"{e['name']} {e['version']}" for e in comparison.engines if e["storage"] != "btree")
    versions += f", Python {platform.python_version()}"
    ahead = f"Ambo’s column tables are ahead of the better of the others in {wins} of {len(verdicts)} rows, and behind in {losses}." if comparison.peers else ""
    parts = [
        f"<h1>One store for both halves</h1><p class=lead>{html.escape(figures['source'])}. {html.escape(versions)}; {html.escape(machine())}.</p>",
        f"<section class=note>{bullets(notes)}</section>" if notes else "",
        f"<section><h2>The same steps</h2><p>{ahead}</p>{compared(comparison)}{show('steps', 'The same steps in all engines')}</section>",
        f"<section><h2>Dashboards</h2>{dashboards(comparison, plan)}{show('dashboards', 'Times of the dashboards')}</section>",
        f"<section><h2>Two transactions write</h2>{conflicts(comparison)}<p>Whoever is told so runs the transaction again. SQLite has one writer at a time: here it was told not to wait for the other; usually it does.</p></section>",
        f"<section><h2>Another storage, while the table is in use</h2>{online(tour)}{show('online', 'Reads and bookings while the storage changes')}"
        "<p>SQLite and DuckDB have one way to keep a table each.</p></section>",
        f"<section><h2>Killed</h2>{death(tour)}</section>",
        f"<section><h2>How this was measured</h2>{method(comparison, plan)}</section>",
    ]
    return (
        f"<!doctype html><html lang=en><head><meta charset=utf-8><meta name=viewport content='width=device-width, initial-scale=1'>"
        f"<title>Ambo: the demo</title><style>{STYLE}</style></head><body><main>{''.join(parts)}</main></body></html>"
    )


def in_short(comparison):
    """The comparison for a terminal."""
    rows = [["", *comparison.labels, "Who is ahead"]]
    rows += [[name, *texts, verdict] for name, _, texts, verdict, _ in comparison.rows()]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    last = len(widths) - 1
    align = lambda i, cell: cell.ljust(widths[i]) if i in (0, last) else cell.rjust(widths[i])
    return "\n".join("  ".join(align(i, cell) for i, cell in enumerate(row)).rstrip() for row in rows)


def main():
    figures_path, peers_path, directory = sys.argv[1:]
    with open(figures_path) as file:
        figures = json.load(file)
    with open(peers_path) as file:
        peers = json.load(file)
    path = os.path.join(directory, "report.html")
    text = page(figures, peers, directory)
    with open(path + ".part", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(path + ".part", path)
    comparison = Comparison(figures, peers)
    print("\n" + in_short(comparison))
    for peer in peers["missing"]:
        print(f"{peer['name']} is missing: {peer['why']}.")
    if not plots:
        print(plots_missing)
    differ = [name for name, agree in comparison.answers() if not agree]
    if differ:
        print(f"The engines gave different answers to: {', '.join(differ)}")
    print(f"\nThe page with {'plots' if plots else 'all figures'} is {path}")
    return 1 if differ else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
