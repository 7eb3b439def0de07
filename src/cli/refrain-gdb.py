"""What `refrain debug` brings to gdb: it starts one extracted rank alone, stops it where it was asked
to, and adds commands that know of events. REFRAIN_TASK names a file that says what is to be done."""

import json
import os
import re
import shlex
import subprocess

import gdb

# The exit codes of Refrain: the command line is wrong; a fault of ours.
USAGE, FAULT = 120, 125

DIVERGED = 3  # enum rf_state
# Libraries that are not what the user is looking for, with or without debugging information.
FOREIGN = re.compile(
    r"librefrain-|^/proc/\d+/fd/"
    r"|/lib(mpi(ch|fort|cxx|_\w+)?|open-|pmix|prrte|ucp|ucs|uct|fabric|event|hwloc|c|m|pthread|gfortran|stdc)\b"
    r"|/ld-linux|^/(usr/)?lib(32|64)?/"
)


def say(text):
    gdb.write(f"refrain: {text}\n", gdb.STDERR)
    gdb.flush(gdb.STDERR)


def quietly(command):
    return gdb.execute(command, to_string=True)


def notifications(wanted):
    """Whether gdb shows the frame at every stop; older ones always do."""
    try:
        quietly(f"set suppress-cli-notifications {'off' if wanted else 'on'}")
    except gdb.error:
        pass


def plural(count):
    return f"{count} event{'' if count == 1 else 's'}"


class Task:
    """What was asked for."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            facts = json.load(file)
        self.start = facts["start"]
        self.look = facts["look"]
        self.recorded = facts["recorded"]
        self.rank = facts["rank"]
        self.events = facts["events"]
        self.aborts = facts["aborts"]
        self.event = facts.get("event")
        self.at = facts.get("at")
        self.batch = facts.get("batch")


class Stops:
    """Remembers why the process stopped or ended last: gdb tells it only as it happens."""

    def __init__(self):
        self.event = None
        gdb.events.stop.connect(self.note)
        gdb.events.exited.connect(self.note)

    def note(self, event):
        self.event = event

    def hit(self, breakpoint):
        event = self.event
        return isinstance(event, gdb.BreakpointEvent) and breakpoint in event.breakpoints

    def why(self):
        event = self.event
        if isinstance(event, gdb.SignalEvent):
            return f"stopped by {event.stop_signal}"
        if isinstance(event, gdb.ExitedEvent):
            if hasattr(event, "exit_code"):
                return f"ended with status {event.exit_code}"
            return "was ended by a signal"
        return "stopped"


def alive():
    return gdb.selected_inferior().pid != 0


def is_foreign(frame):
    if frame.type() in (gdb.SIGTRAMP_FRAME, gdb.ARCH_FRAME):
        return True
    library = gdb.solib_name(frame.pc())
    if library is None:  # the program itself, or what the kernel and the linker add to it
        return frame.name() in (None, "_start")
    return frame.find_sal().symtab is None or bool(FOREIGN.search(library))


def program_frame():
    """The innermost frame that belongs to the program; None when it cannot be told."""
    frame = gdb.newest_frame()
    while frame is not None and is_foreign(frame):
        frame = frame.older()
    return frame


def select_program():
    frame = program_frame()
    if frame is not None:
        frame.select()


def place_of(frame):
    sal = frame.find_sal()
    if sal.symtab is None:
        return frame.name() or hex(frame.pc())
    return f"{os.path.basename(sal.symtab.filename)}:{sal.line}"


def call_of(frame):
    """The function of MPI through which the program left its own code, or None."""
    inner = frame.newer() if frame is not None else None
    return inner.name() if inner is not None and is_foreign(inner) else None


def ours(name):
    """A variable of the adapter. Expressions would be in the language of the program."""
    symbol = gdb.lookup_global_symbol(name)
    if symbol is None:
        raise gdb.error(f"{name}: the adapter is not loaded")
    return symbol.value()


def replayer():
    return ours("rf_the_session")["replayer"]


def played():
    """How many events were played; None while there is no session yet."""
    try:
        progress = replayer()["progress"]
        return int(progress["events"]) if int(progress) else None
    except gdb.error:
        return None


def made_again(task):
    """What a rank has made anew that plays no events, as its contents were kept while it was recorded:
    how many events, and the latest. None while there is no session yet."""
    look = subprocess.run(task.look, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return json.loads(look.stdout) if look.returncode == 0 else None


def count_of(task):
    """How many events are behind the rank; None while there is no session yet."""
    if not task.recorded:
        return played()
    again = made_again(task)
    return again["events"] if again else None


def text_of(value):
    return value.string(errors="replace")


def kind_of(event):
    return text_of(ours("rf_kind_names")[int(event["kind"])])


def number_of(event):
    """An event may stand for many equal ones in a row; of the last one we know how many were played."""
    number = int(event["number"])
    current = replayer()
    same = int(current["cursor"]["event"]["number"]) == number
    return number + (int(current["cursor"]["used"]) if same else int(event["run"])) - 1


def describe(event):
    """"event 12: recv: source 3, tag 7" of a struct rf_event."""
    kind = int(event["kind"])
    parts = []
    for i, field in enumerate(("first", "second")):
        column = int(ours("rf_kind_columns")[kind][i])
        if column:
            name = text_of(ours("rf_column_names")[column])
            parts.append(f"{name} {int(event[field])}")
    return f"event {number_of(event)}: {kind_of(event)}, {', '.join(parts)}"


def recent():
    """The last events that were played, the latest first; tests that failed are not among them."""
    current = replayer()
    history = current["history"]
    room = history.type.range()[1] + 1
    remembered = int(current["remembered"])
    return [history[(remembered - 1 - i) % room] for i in range(min(remembered, room))]


def last_of(events):
    """The event that was played last, a test that failed too."""
    current = replayer()
    if int(current["cursor"]["used"]) > 0 and kind_of(current["cursor"]["event"]) != "check":
        return current["cursor"]["event"]
    return events[0] if events else None


def brings_message(event):
    return kind_of(event) in ("recv", "post", "found")


def latest():
    """The event that was played last, and the one that brought a message last if that is another."""
    events = recent()
    last = last_of(events)
    message = next((event for event in events if brings_message(event)), None)
    if message is not None and number_of(message) == number_of(last):
        message = None
    return {
        "last": describe(last) if last is not None else None,
        "message": describe(message) if message is not None else None,
    }


def where(task):
    if not alive():
        raise gdb.GdbError(f"rank {task.rank} is not running")
    count = count_of(task)
    if count is None:
        print(f"rank {task.rank}: MPI has not started yet")
        return
    print(f"rank {task.rank}: {count} of {plural(task.events)} played")
    frame = program_frame()
    if frame is not None:
        call = call_of(frame)
        print(f"  now      {f'in {call}, called' if call else 'in the program'} at {place_of(frame)}")
    facts = made_again(task) if task.recorded else latest()
    for title in ("last", "message"):
        if facts[title]:
            print(f"  {title:8} {facts[title]}")


class Silent(gdb.Breakpoint):
    """A breakpoint of our own, which is neither listed nor announced."""

    def __init__(self, function):
        super().__init__(function, internal=True)
        self.silent = True


class Leaving(Silent):
    """Where the process ends by itself; stops only if it is with a status that is not 0. The adapter has a
    function of the same name, which leads to this one."""

    status = 0

    def stop(self):
        frame = gdb.newest_frame()
        self.status = int(frame.read_register("rdi")) & 0xFF
        return self.status != 0 and "librefrain-" not in (gdb.solib_name(frame.pc()) or "")


class Watch(gdb.Breakpoint):
    """Stops after a member of the progress was changed, as the processor sees it."""

    def __init__(self, member):
        member = replayer()["progress"][member]
        where = f"*({member.type.unqualified()} *) {int(member.address)}"
        language = gdb.parameter("language")
        quietly("set language c")
        try:
            super().__init__(where, gdb.BP_WATCHPOINT, gdb.WP_WRITE, internal=True)
        finally:
            quietly(f"set language {language}")
        self.silent = True


def stop_after(events):
    """Has the rank itself call rf_replay_stop() after so many events; 0: never."""
    wish = replayer()["stop_at"]
    value = events.to_bytes(wish.type.sizeof, "little")
    gdb.selected_inferior().write_memory(int(wish.address), value)


class Rank:
    """The process under gdb, and how it is moved about."""

    def __init__(self, task, stops):
        self.task = task
        self.stops = stops
        self.diverge = self.take = self.counted = self.abort = self.leaving = self.report = None
        self.to_first_event = False
        gdb.events.new_objfile.connect(self.on_library)
        gdb.events.stop.connect(self.on_stop)

    def on_library(self, event):
        # Only now are these functions known. The adapter may be preloaded by another name than its own.
        name = os.path.basename(event.new_objfile.filename or "")
        if not self.take and event.new_objfile.lookup_global_symbol("rf_replay_take"):
            self.diverge = Silent("rf_diverge")
            # Where the recorded rank did not abort, this is a difference, which is told as such.
            self.abort = Silent("MPI_Abort") if self.task.aborts else None
            self.take = Silent("rf_replay_take")
            self.take.enabled = self.to_first_event
            self.counted = Silent("rf_replay_stop")
        if re.match(r"libc[.-]", name) and not self.leaving:
            self.leaving = Leaving("_exit")

    def on_stop(self, _):
        # Not from within the stop itself.
        if self.stops.hit(self.diverge):
            gdb.post_event(self.begin_report)
        elif self.report and self.stops.hit(self.report):
            gdb.post_event(self.end_report)

    def begin_report(self):
        """From where a difference was noticed to where it is told, in memory that outlives the process."""
        if not alive() or int(replayer()["progress"]["state"]) == DIVERGED:
            return
        self.report = Watch("state")
        self.move("continue")

    def end_report(self):
        if self.report:
            self.report.delete()
            self.report = None
            say(f"rank {self.task.rank} differs from its recording here; the report follows at the end")
            select_program()

    def why(self):
        if self.stops.hit(self.abort):
            return "calls MPI_Abort"
        if self.stops.hit(self.leaving):
            return f"is about to end with status {self.leaving.status}"
        return self.stops.why()

    @staticmethod
    def move(command):
        notifications(False)
        try:
            quietly(command)
        finally:
            notifications(True)

    def go(self, command):
        """Runs or continues; true when the process is still there, stopped."""
        self.move(command)
        if alive() and self.stops.hit(self.diverge):
            self.begin_report()
            self.end_report()
        return alive()

    def start(self):
        if alive():
            quietly("kill")
        return self.go("run")

    def to_take(self):
        """To where the first event is about to be played: then there is something to watch."""
        self.to_first_event = True
        if self.take:
            self.take.enabled = True
        there = self.go("continue") if alive() else self.start()
        self.to_first_event = False
        if self.take:
            self.take.enabled = False
        return there and played() is not None

    def after_event(self, number):
        """Goes on until event `number` was played and the program is back in its own code."""
        if played() is None or not alive():
            if not self.to_take():
                return False
        if played() > number:
            return played() == number + 1
        self.counted.enabled = True
        stop_after(number + 1)
        try:
            self.go("continue")
        finally:
            if alive():
                stop_after(0)
        if not alive() or played() != number + 1:
            return False
        self.leave_mpi()
        return True

    def leave_mpi(self):
        frame = program_frame()
        inner = frame.newer() if frame is not None else None
        if inner is not None:
            inner.select()
            self.move("finish")

    def again_after_event(self, number):
        """From the start: the rank alone does the same every time."""
        others = [other for other in gdb.breakpoints() or () if other.enabled]
        for other in others:
            other.enabled = False
        try:
            if alive():
                quietly("kill")
            return self.after_event(number)
        finally:
            for other in others:
                other.enabled = True

    def show(self):
        """Where the process stands, in the program's own source."""
        count = count_of(self.task) if alive() else None
        after = "" if count is None else f", after {plural(count)}"
        say(f"rank {self.task.rank} {self.why()}{after}")
        if alive():
            select_program()
            gdb.write(quietly("frame"), gdb.STDERR if self.task.batch else gdb.STDOUT)


def needs_played(task):
    """The commands that go to an event cannot where none are played."""
    if task.recorded:
        raise gdb.GdbError(
            f"rank {task.rank} was kept while it was recorded: it can stop at lines, not at events; "
            f"refrain extract --rank {task.rank} changes that"
        )


class Where(gdb.Command):
    """refrain-where: the rank, how many events were played, the call it is in, what came last."""

    def __init__(self, rank):
        super().__init__("refrain-where", gdb.COMMAND_STATUS)
        self.rank = rank

    def invoke(self, argument, from_tty):
        where(self.rank.task)


class Event(gdb.Command):
    """refrain-event N: go on until event N was played; from the start if it was played before."""

    def __init__(self, rank):
        super().__init__("refrain-event", gdb.COMMAND_RUNNING)
        self.rank = rank

    def invoke(self, argument, from_tty):
        needs_played(self.rank.task)
        if not argument.strip().isdigit():
            raise gdb.GdbError("refrain-event N: the number of an event, as refrain dump has it")
        number = int(argument)
        if number >= self.rank.task.events:
            raise gdb.GdbError(f"rank {self.rank.task.rank} has {plural(self.rank.task.events)}")
        count = played() if alive() else None
        if count is not None and count > number:
            self.rank.again_after_event(number)
        else:
            self.rank.after_event(number)
        self.rank.show()


class Next(gdb.Command):
    """refrain-next: go on until the next event was played."""

    def __init__(self, rank):
        super().__init__("refrain-next", gdb.COMMAND_RUNNING)
        self.rank = rank

    def invoke(self, argument, from_tty):
        needs_played(self.rank.task)
        count = (played() if alive() else None) or 0
        if count >= self.rank.task.events:
            raise gdb.GdbError(f"rank {self.rank.task.rank} has played all of its events")
        self.rank.after_event(count)
        self.rank.show()


class Back(gdb.Command):
    """refrain-back: start again, and stop one event earlier."""

    def __init__(self, rank):
        super().__init__("refrain-back", gdb.COMMAND_RUNNING)
        self.rank = rank

    def invoke(self, argument, from_tty):
        needs_played(self.rank.task)
        count = (played() if alive() else None) or 0
        if count < 2:
            raise gdb.GdbError("there is no event before this one")
        self.rank.again_after_event(count - 2)
        self.rank.show()


def run_to_place(rank, at):
    """Stops when the line is reached for the wanted time; returns the exit code."""
    quietly(f"break {at['where']}")
    breakpoint = gdb.breakpoints()[-1]
    breakpoint.ignore_count = at["times"] - 1
    rank.start()
    if rank.stops.hit(breakpoint):
        return 0
    times = breakpoint.hit_count
    known = "there is no such line" if breakpoint.pending else f"reached {times} time{'s'[times == 1:]}"
    say(f"--at {at['where']}: {known}")
    return USAGE


def commands_of(text):
    """The commands between semicolons and line ends, except within quotes."""
    words = re.findall(r"""(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[^;\n])+""", text)
    return [word.strip() for word in words if word.strip()]


def run_commands(text):
    """Up to the first one that fails, as in a script of gdb; returns the exit code. A rank that did not stop
    has nothing to look at, and that is no mistake."""
    stopped = alive()
    for command in commands_of(text):
        try:
            gdb.execute(command)
        except gdb.error as error:
            gdb.flush()
            say(f"--batch: {command}: {error}")
            return USAGE if stopped else 0
        gdb.flush()
    return 0


def prepare(task):
    settings = ("pagination off", "breakpoint pending on", "startup-with-shell on")
    for setting in settings + ("print thread-events off",):
        quietly(f"set {setting}")
    # What programs use for themselves does not concern their author.
    for signal in ("SIGPIPE", "SIGUSR1", "SIGUSR2", "SIGCHLD", "SIGALRM", "SIGURG"):
        quietly(f"handle {signal} nostop noprint pass")
    # Neither gdb nor its shell gets the preload: our own program sets it up and becomes the rank.
    quietly(f"set exec-wrapper {shlex.join(task.start)}")


def debug():
    task = Task(os.environ["REFRAIN_TASK"])
    prepare(task)
    stops = Stops()
    rank = Rank(task, stops)
    for command in (Where, Event, Next, Back):
        command(rank)
    code = 0
    if task.at:
        code = run_to_place(rank, task.at)
    elif task.event is not None:
        rank.after_event(task.event)
    else:
        rank.start()
    rank.show()
    if task.batch:
        if code == 0:
            code = run_commands(task.batch)
        if alive():
            quietly("kill")
        gdb.execute(f"quit {code}")
    say("refrain-where, refrain-event N, refrain-next and refrain-back know of events")


try:
    debug()
except (gdb.error, RuntimeError, OSError, ValueError, KeyError) as error:
    say(f"refrain-gdb.py: {error}")
    gdb.execute(f"quit {FAULT}")
