"""What the benchmarks share: running programs in turns, tables with goals, pages and pictures."""

import argparse
import datetime
import json
import math
import os
import platform
import re
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import namedtuple
from pathlib import Path

HERE = Path(__file__).resolve().parent
TIMEOUT = 300  # seconds for one run; the longest takes a few

MPI_NAMES = {"openmpi": "Open MPI", "mpich": "MPICH"}

# wall, cpu: of the whole command. inside: seconds between MPI_Init and MPI_Finalize as the program
# measured them. ranks: what each rank measured for itself, if it did: seconds of the clock and of
# the processor.
Run = namedtuple("Run", "wall cpu inside output ranks")
Spread = namedtuple("Spread", "median low high")


# A ratio is measured in at most so many times the rounds while its verdict is open.
MORE_ROUNDS = 4
MORE_ROUNDS_TEXT = f"""There are up to {MORE_ROUNDS} times as many rounds for rows of which it could not be told
otherwise whether they reach the goal: rounds above and below it were nearly as many, nearer to
halves than one and a half standard deviations of a coin's throws. Rows with all of these rounds
are at their goal."""


class Failure(Exception):
    """The benchmark cannot be trusted, or cannot go on."""


STARTED = time.monotonic()


def say(text):
    print(f"[{time.monotonic() - STARTED:5.0f} s] {text}", file=sys.stderr, flush=True)


def spread(values):
    """Median and quartiles."""
    values = sorted(values)
    if len(values) < 2:
        return Spread(values[0], values[0], values[0])
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return Spread(median, low, high)


def is_open(values, goal):
    """Could a coin have put the values above and below the goal? How far they lie from it does not
    count: slow rounds are further away than fast ones, and would keep only slow rows open."""
    above = sum(value > goal for value in values)
    return abs(2 * above - len(values)) < 1.5 * math.sqrt(len(values))


def at_full_speed(rounds):
    """The spreads of what was measured in each round, the plain time first. Processors of a shared
    machine change their speed: rounds in which the plain time was over 5 % longer than the shortest
    are left out."""
    shortest = min(each[0] for each in rounds)
    return tuple(map(spread, zip(*(each for each in rounds if each[0] <= 1.05 * shortest))))


def sorted_lines(output):
    """Lines of several ranks come in any order."""
    return tuple(sorted(output.splitlines()))


def word_after(output, word):
    match = re.search(rf"\b{word} (\S+)", output)
    if not match:
        raise Failure(f"no '{word}' in: {output.strip()}")
    return match.group(1)


# ---------------------------------------------------------------------------- running


class Bench:
    """Where things are, and how to run them."""

    def __init__(self, options, program):
        """`program` is one that must have been built."""
        self.quick = options.quick
        self.timed_rounds = options.rounds
        self.refrain = os.environ.get("REFRAIN") or str(HERE.parent / "build" / "refrain")
        self.programs = Path(
            os.environ.get("REFRAIN_BENCH_PROGRAMS") or HERE.parent / "build" / "bench"
        )
        if not os.access(self.refrain, os.X_OK):
            raise Failure(f"{self.refrain}: no such program (set REFRAIN)")
        self.mpis = self.find_mpis(options, program)
        self.scratch = Path(tempfile.mkdtemp(prefix="refrain-bench-"))
        self.environment = dict(os.environ, NO_COLOR="1")
        if os.geteuid() == 0:
            # Open MPI refuses to run as root unless told twice.
            self.environment["OMPI_ALLOW_RUN_AS_ROOT"] = "1"
            self.environment["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
        self.traces = 0

    def find_mpis(self, options, program):
        wanted = ["openmpi", "mpich"] if options.mpi == "both" else [options.mpi]
        for mpi in wanted:
            if not shutil.which(f"mpirun.{mpi}"):
                raise Failure(f"mpirun.{mpi}: not found (choose with --mpi)")
            if not (self.programs / mpi / program).exists():
                raise Failure(f"{self.programs / mpi}: the programs are not built")
        return wanted

    @staticmethod
    def read_inside(text):
        """What the program measured for itself."""
        return float(text)

    def library(self):
        """A row of the table of the machine."""
        return "MPI", ", ".join(mpi_version(mpi) for mpi in self.mpis)

    def rounds(self, full, quick):
        return quick if self.quick else full

    def command(self, mpi, ranks, program, *arguments, before=(), bind=True):
        launcher = [f"mpirun.{mpi}"]
        if mpi == "openmpi":
            launcher.append("--oversubscribe")
            if not bind:
                launcher += ["--bind-to", "none"]
        path = str(self.programs / mpi / program)
        return launcher + ["-n", str(ranks), *before, path, *map(str, arguments)]

    def run(self, command):
        """Runs a command to its end; the CPU time is that of all its processes."""
        out, err = self.scratch / "stdout", self.scratch / "stderr"
        inside = self.scratch / "inside"
        for old in self.scratch.glob("inside*"):
            old.unlink()
        environment = dict(self.environment, BENCH_TIME=str(inside))
        with open(out, "wb") as output, open(err, "wb") as errors:
            started = time.monotonic()
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                env=environment,
                cwd=self.scratch,
                start_new_session=True,
            )
            watchdog = threading.Timer(TIMEOUT, os.killpg, (process.pid, signal.SIGKILL))
            watchdog.start()
            try:
                _, status, usage = os.wait4(process.pid, 0)
            except BaseException:
                # Interrupted: the session is its own, so nobody else would end it.
                os.killpg(process.pid, signal.SIGTERM)
                raise
            finally:
                watchdog.cancel()
            wall = time.monotonic() - started
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            tail = "\n".join(err.read_text(errors="replace").splitlines()[-15:])
            raise Failure(f"{shlex.join(command)}: ended with {process.returncode}\n{tail}")
        return Run(
            wall,
            usage.ru_utime + usage.ru_stime,
            self.read_inside(inside.read_text()) if inside.exists() else None,
            out.read_text(),
            {
                int(file.name.removeprefix("inside-")): tuple(map(float, file.read_text().split()))
                for file in self.scratch.glob("inside-*")
            },
        )

    def record(self, command, mpi=None, more=()):
        """Records a command; returns the run and the trace's directory."""
        self.traces += 1
        trace = self.scratch / f"trace-{self.traces}"
        words = [self.refrain, "record", "--quiet", "--output", str(trace), *more]
        if mpi:
            words += ["--mpi", mpi]
        return self.run(words + ["--", *command]), trace

    def again(self, trace, words, expected):
        """Runs a verb on a trace and insists on the output. The trace of a failure is kept."""
        try:
            run = self.run([self.refrain, *words, "--quiet", str(trace)])
        except Failure as failure:
            kept = self.keep(trace)
            raise Failure(f"{words[0]} failed, trace kept in {kept}: {failure}") from failure
        if sorted_lines(run.output) != sorted_lines(expected):
            kept = self.keep(trace)
            raise Failure(
                f"refrain {shlex.join(words)} {kept}: printed something else:\n"
                f"  recorded: {expected.strip()}\n  this time: {run.output.strip()}"
            )
        return run

    def replay(self, trace, recorded):
        return self.again(trace, ["replay"], recorded.output)

    def keep(self, trace):
        kept = Path(tempfile.mkdtemp(prefix="refrain-bench-failed-")) / trace.name
        shutil.move(str(trace), kept)
        return kept

    def info(self, trace):
        run = self.run([self.refrain, "info", "--json", str(trace)])
        return json.loads(run.output)

    def close(self):
        shutil.rmtree(self.scratch, ignore_errors=True)


# ---------------------------------------------------------------------------- pages


def first_line(command):
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return "unknown"
    return (result.stdout or result.stderr).strip().splitlines()[0] if result.stdout else "unknown"


def mpi_version(mpi):
    text = subprocess.run(
        [f"mpirun.{mpi}", "--version"], capture_output=True, text=True, check=False
    ).stdout
    match = re.search(r"\d+\.\d+(\.\d+)*", text)
    return f"{MPI_NAMES[mpi]} {match.group(0) if match else '?'}"


def cpu_model():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def file_system(path):
    result = subprocess.run(
        ["df", "--output=fstype", str(path)], capture_output=True, text=True, check=False
    )
    lines = result.stdout.split()
    return lines[-1] if result.returncode == 0 and lines else "unknown"


def machine(bench):
    memory = int(re.search(r"MemTotal:\s+(\d+)", Path("/proc/meminfo").read_text()).group(1))
    return [
        ("CPU", f"{cpu_model()}, {len(os.sched_getaffinity(0))} cores"),
        ("memory", f"{memory / 1024 / 1024:.1f} GiB"),
        ("kernel", f"{platform.system()} {platform.release()}"),
        bench.library(),
        ("traces written to", file_system(bench.scratch)),
        ("Refrain", first_line([bench.refrain, "--version"])),
        ("date", datetime.date.today().isoformat()),
    ]


class Table:
    """Rows of a Markdown table with a goal, and how many goals were reached."""

    def __init__(self):
        self.rows, self.reached, self.goals = [], 0, 0

    def add(self, cells, goal=None, values=(), at_least=False, shown=None):
        """All the values must meet the goal."""
        if goal is None:
            self.rows.append([*cells, "–", ""])
            return
        good = all(value >= goal if at_least else value <= goal for value in values)
        self.judged(cells, [(good, ("≥ " if at_least else "≤ ") + (shown or f"{goal:g}"))])

    def judged(self, cells, judgements):
        """A row with any number of goals: whether each was reached, and its text."""
        self.goals += len(judgements)
        self.reached += sum(good for good, _ in judgements)
        goals = ", ".join(text for _, text in judgements)
        verdicts = ", ".join("yes" if good else "**no**" for good, _ in judgements)
        self.rows.append([*cells, goals, verdicts])

    def markdown(self, *headings):
        lines = ["| " + " | ".join([*headings, "goal", "reached"]) + " |"]
        lines.append("|" + " --- |" * (len(headings) + 2))
        lines += ["| " + " | ".join(row) + " |" for row in self.rows]
        return "\n".join(lines)


def quartiles(value, form):
    return f"{value.median:{form}} ({value.low:{form}}–{value.high:{form}})"


def page_head(bench, name, title, tables, picture, programs="bench/programs", kind="MPI"):
    """What every page begins with: how it was made, on which machine, and the picture."""
    # The verb takes no options of the script; with any, the script was run by itself.
    words = ["bench/" + name, *sys.argv[1:]] if sys.argv[1:] else ["refrain", "bench", name]
    minutes = (time.monotonic() - STARTED) / 60
    rows = "\n".join(f"| {fact} | {value} |" for fact, value in machine(bench))
    return f"""# {title}

Written by `{shlex.join(words)}`, which took {minutes:.0f} minutes. The programs are in
`{programs}`; they are ordinary {kind} programs and know nothing of Refrain.
{sum(table.reached for table in tables)} of {sum(table.goals for table in tables)} goals reached.

| | |
| --- | --- |
{rows}

![{picture}](bench-{name}.svg)
"""


# ---------------------------------------------------------------------------- pictures

COLOURS = {
    "openmpi": "#1f6fb4",
    "mpich": "#d2691e",
    "small": "#8fbbe0",
    "long": "#1f6fb4",
    "paper": "#999999",
}


class Panel:
    """A dot plot: one line for each program, a dot for the median, a bar for the quartiles."""

    LEFT, WIDTH, ROW = 190, 470, 26

    def __init__(self, title, top, goal, largest, smallest=0.9):
        self.top, self.goal = top, goal
        self.smallest, self.largest = smallest, largest
        self.row = 0
        self.parts = [f'<text x="20" y="{top}" class="title">{title}</text>']

    def place(self, value):
        value = min(max(value, self.smallest), self.largest)
        share = (value - self.smallest) / (self.largest - self.smallest)
        return self.LEFT + self.WIDTH * share

    def add(self, label, points):
        y = self.top + 26 + self.row * self.ROW
        self.row += 1
        self.parts.append(f'<text x="{self.LEFT - 12}" y="{y + 4}" class="label">{label}</text>')
        for number, (mpi, value) in enumerate(points):
            line = y - 4 + 8 * number
            low, middle, high = (
                self.place(each) for each in (value.low, value.median, value.high)
            )
            beyond = " →" if value.median > self.largest else ""
            self.parts.append(
                f'<line x1="{low:.1f}" x2="{high:.1f}" y1="{line}" y2="{line}" '
                f'stroke="{COLOURS[mpi]}" stroke-width="3" stroke-opacity="0.45"/>'
                f'<circle cx="{middle:.1f}" cy="{line}" r="3.5" fill="{COLOURS[mpi]}"/>'
                f'<text x="{self.LEFT + self.WIDTH + 16 + 70 * number}" y="{y + 4}" '
                f'fill="{COLOURS[mpi]}">{value.median:.3f}{beyond}</text>'
            )

    def finish(self):
        bottom = self.top + 20 + self.row * self.ROW
        reach = self.largest - self.smallest
        step = 0.1 if reach <= 1 else 0.5 if reach <= 5 else 2
        for number in range(round(reach / step) + 1):
            value = self.smallest + step * number
            x = self.place(value)
            self.parts.insert(
                0,
                f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{self.top + 10}" y2="{bottom}" '
                f'stroke="{"#888" if abs(value - 1) < 0.01 else "#e4e4e4"}"/>'
                f'<text x="{x:.1f}" y="{bottom + 14}" class="tick">{value:.1f}</text>',
            )
        x = self.place(self.goal)
        self.parts.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{self.top + 10}" y2="{bottom}" '
            f'stroke="#2e8b57" stroke-dasharray="4 3"/>'
            f'<text x="{x + 4:.1f}" y="{self.top + 8}" class="goal">goal {self.goal:g}</text>'
        )
        return bottom + 50, "\n".join(self.parts)


def write_panels(path, mpis, height, panels, names=MPI_NAMES, apart=90, width=830):
    """`names` are those of the colours in the legend, which are so far `apart`."""
    body = "\n".join(panels)
    legend = "".join(
        f'<circle cx="{24 + apart * number}" cy="24" r="4" fill="{COLOURS[mpi]}"/>'
        f'<text x="{34 + apart * number}" y="28">{names[mpi]}</text>'
        for number, mpi in enumerate(mpis)
    )
    legend += (
        f'<text x="{50 + apart * max(len(mpis), 2)}" y="28" fill="#666">'
        "dot: median, bar: quartiles</text>"
    )
    path.write_text(
        f"""<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height - 20}"
 viewBox="0 0 {width} {height - 20}" font-family="sans-serif" font-size="12" fill="#222">
<style>.title {{ font-weight: bold; font-size: 13px }} .label {{ text-anchor: end }}
.tick {{ text-anchor: middle; fill: #666; font-size: 11px }}
.goal {{ fill: #2e8b57; font-size: 11px }}</style>
<rect width="100%" height="100%" fill="white"/>
{legend}
{body}
</svg>
"""
    )


# ---------------------------------------------------------------------------- main


def parse_arguments(name, description, rounds, mpi=True):
    parser = argparse.ArgumentParser(prog=f"refrain bench {name}", description=description)
    parser.add_argument("--quick", action="store_true", help="few rounds, small sizes")
    parser.add_argument(
        "--rounds", type=int, metavar="N", help=f"time each program N times (default: {rounds})"
    )
    if mpi:
        parser.add_argument("--mpi", choices=["openmpi", "mpich", "both"], default="both")
    parser.add_argument(
        "--output",
        type=Path,
        metavar="DIR",
        default=HERE.parent / "docs" if (HERE.parent / "docs").is_dir() else Path.cwd(),
        help=f"where bench-{name}.md and bench-{name}.svg go (default: docs)",
    )
    return parser.parse_args()


def run(name, program, options, measure, kind=Bench):
    """Measures and writes: `measure` returns the page's text and its tables. The exit code."""
    bench = None
    # An end by SIGTERM tidies up like one from the keyboard.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        bench = kind(options, program)
        options.output.mkdir(parents=True, exist_ok=True)
        page, tables = measure(bench, options)
        (options.output / f"bench-{name}.md").write_text(page)
    except Failure as failure:
        print(f"refrain: bench {name}: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    finally:
        if bench:
            bench.close()
    reached, goals = sum(table.reached for table in tables), sum(table.goals for table in tables)
    print(f"{reached} of {goals} goals reached; see {options.output / f'bench-{name}.md'}")
    return 0
