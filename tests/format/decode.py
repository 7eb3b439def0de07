#!/usr/bin/env python3
"""Reads traces with nothing but docs/format.md, and prints events as `refrain dump --all --json` does.

This is a second opinion on the document, not a tool: it is slow, trusts the files, and does not
verify checksums. Usage: decode.py TRACE
"""
import json
import os
import re
import struct
import sys

KINDS = [
    None,
    ("post", "source", "tag", "open"),
    ("recv", "source", "tag", "repeats"),
    ("found", "source", "tag", "repeats"),
    ("none", "count", None, "repeats"),
    ("done", "count", None, "repeats"),
    ("index", "index", "count", "repeats"),
    ("set", "count", None, "list"),
    ("error", "class", "call", "list"),
    ("late", "source", "tag", "back"),
    ("check", "hash", "call", ""),
    ("end", "how", "code", ""),
    ("cancel", "cancelled", None, "open"),
    ("value", "value", "call", "repeats"),
    ("stamp", "stamp", "back", ""),
    ("thread", "thread", None, ""),
]
NONE, LATE, CHECK, END, STAMP, THREAD = 4, 9, 10, 11, 14, 15
UNKNOWN, UNDEFINED = -(2**31), -(2**31) + 1
GOES_ON = 2**31
SLOT = struct.Struct("<IiiI")
MASK = 2**32 - 1


def flag_of(what):
    return KINDS[what & 15][3]


def signed(value):
    value &= MASK
    return value - 2**32 if value & 2**31 else value


def unzigzag(number):
    return signed(number >> 1 ^ -(number & 1))


def text(data):
    return data.split(b"\0")[0].decode()


class Bytes:
    """A payload, read from the front."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def varint(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def take(self, count):
        self.at += count
        return self.data[self.at - count : self.at]

    def counted(self):
        return self.take(self.varint())


class Node:
    """A bit."""

    FAST = [10923, 6554, 4681, 3641, 2979, 2521, 2185, 1928, 1725, 1560, 1425, 1311, 1214, 1130,
            1057, 1024]
    SLOW = FAST[:15] + [256]

    def __init__(self):
        self.fast = self.slow = 0x8000
        self.seen = 0

    def probability(self):
        return min(max((self.fast + self.slow) >> 1, 16), 65520)

    def learn(self, bit):
        target = 65535 if bit else 0
        self.fast = self.fast + ((target - self.fast) * self.FAST[self.seen] >> 14) & 0xFFF0
        self.slow += (target - self.slow) * self.SLOW[self.seen] >> 14
        self.seen = min(self.seen + 1, 15)


class Symbol:
    """One of sixteen."""

    def __init__(self):
        self.below = [128 * i * (32 - i) for i in range(17)]
        self.seen = 0

    def learn(self, symbol):
        rate = 65535 // (40 if self.seen == 32 else self.seen + 2)
        for i in range(16):
            target = 2 * i + (32736 if i > symbol else 0)
            self.below[i] += (target - self.below[i]) * rate >> 16
        self.seen = min(self.seen + 1, 32)


class Models(dict):
    """Models by any key, made when they are first met."""

    def __init__(self, make):
        super().__init__()
        self.make = make

    def __missing__(self, key):
        self[key] = self.make()
        return self[key]


class Coder:
    def __init__(self, data):
        self.data, self.at = data, 0
        self.range = 2**64 - 1
        self.value = self.word() << 32 | self.word()
        self.nodes, self.symbols = Models(Node), Models(Symbol)

    def word(self):
        word = self.data[self.at : self.at + 4].ljust(4, b"\0")
        self.at += 4
        return int.from_bytes(word, "big")

    def take(self, unit, start, end):
        self.value -= unit * start
        self.range = unit * (end - start)
        if self.range < 2**32:
            self.value = self.value << 32 | self.word()
            self.range <<= 32

    def bit(self, *key):
        node = self.nodes[key]
        unit, one = self.range >> 16, node.probability()
        bit = int(self.value < unit * one)
        self.take(unit, *((0, one) if bit else (one, 65536)))
        node.learn(bit)
        return bit

    def raw(self, count):
        unit = self.range >> count
        value = self.value // unit
        self.take(unit, value, value + 1)
        return value

    def symbol(self, general, special, *key):
        one, other = self.symbols["general", general, key], self.symbols["special", special, key]
        sums = other.below
        if other.seen < 32:
            trust = 256 * other.seen // (other.seen + 3)
            sums = [g + ((s - g) * trust >> 8) for g, s in zip(one.below, other.below)]
        unit = self.range >> 15
        symbol = max(i for i in range(16) if unit * sums[i] <= self.value)
        self.take(unit, sums[symbol], sums[symbol + 1])
        if other.seen < 32:
            one.learn(symbol)
        other.learn(symbol)
        return symbol

    def number(self, column, general, special):
        general = column, general % 64
        special = column, (special * 0x9E3779B1 & MASK) >> 24
        token = self.symbol(general, special, "token")
        if token < 8:
            return token
        length = token - 5
        if token == 15:
            length = 10 + self.symbol(general, special, "length")
            if length == 25:
                return self.raw(2) << 32 | self.raw(16) << 16 | self.raw(16)
        head = min(length, 4)
        value = 1 << head | self.symbol(general, special, "head", token)
        rest = length - head
        while rest:
            count = min(rest, 16)
            value = value << count | self.raw(count)
            rest -= count
        return value


def mix(a, b):
    h = ((a ^ b * 0x9E3779B1) * 0x85EBCA6B) & MASK
    return h ^ h >> 15


class Entry:
    def __init__(self, what, first=0, second=0, run=1, items=()):
        self.what, self.first, self.second = what, first, second
        self.run, self.items = run, list(items)

    def slots(self):
        return 1 + (len(self.items) + 3) // 4

    def equals(self, other):
        same = (self.what, self.first, self.second) == (other.what, other.first, other.second)
        if flag_of(self.what) == "list":
            same = same and self.run == other.run and self.items == other.items
        return same

    def hash(self):
        if self.what & 15 == STAMP:
            return mix(self.what, 0)
        h = mix(mix(self.what, self.first), self.second)
        if flag_of(self.what) == "list":
            h = mix(h, len(self.items))
            for item in self.items:
                h = mix(h, item)
        return h


class Guesser:
    def __init__(self):
        self.context = self.nothing = 0
        self.table = [[None, 0, 0] for _ in range(4096)]

    def look(self):
        key = mix(self.context, self.nothing) * 0x9E3779B1 & MASK
        self.guess = self.table[key >> 20]
        check = key >> 12 & 255
        if self.guess[2] != check:
            self.guess[:] = [None, 0, check]

    def offers(self, left):
        entry, confidence, _ = self.guess
        return entry and confidence and entry.slots() <= left

    def learn(self, entry):
        if self.guess[0] and entry.equals(self.guess[0]):
            self.guess[1] = min(self.guess[1] + 1, 15)
        else:
            self.guess[1] = 0
        self.guess[0] = entry
        if entry.what & 15 == NONE:
            self.nothing = mix(entry.what, entry.first) | 1
        else:
            self.nothing = 0
            self.context = (self.context * 4 * 0x2C1B3C6D + entry.hash()) & MASK


class Memory:
    """What a word remembers of its last entry."""

    def __init__(self):
        self.first = self.second = self.run_class = 0
        self.items = []
        self.seen, self.cycle, self.equal_cycles = set(), 0, 0

    def steady(self):
        return self.equal_cycles >= 3

    def folded(self):
        bits = sum(1 << value for value in self.seen)
        return (bits ^ bits >> 32) & MASK

    def learn(self, entry, second):
        repeated = False
        if flag_of(entry.what) == "repeats":
            self.run_class = entry.run.bit_length() - 1
            repeated = entry.run > 1
        if repeated or entry.first != self.first:
            value = entry.first % 64
            if repeated or value in self.seen:
                length = len(self.seen | {value})
                self.equal_cycles = self.equal_cycles + 1 if length == self.cycle else 0
                self.cycle = length
                self.seen = set()
            self.seen.add(value)
        self.first, self.second, self.items = entry.first, second, entry.items


class Segment:
    """Decodes the payload of an events chunk."""

    def __init__(self, payload, slots):
        payload = Bytes(payload)
        self.posts, self.unknown_posts = payload.varint(), payload.varint()
        self.late = []
        for _ in range(payload.varint()):
            payload.varint()
            run = payload.varint()
            source = unzigzag(payload.varint())
            self.late.append((source, unzigzag(payload.varint()), run))
        self.coder = Coder(payload.data[payload.at :])
        self.words, self.memories, self.shapes = [], [], []
        self.before = [0, 0]
        self.place = self.call = 0
        self.guesser = Guesser()
        self.entries = []
        while slots:
            self.guesser.look()
            entry = self.entry(slots)
            self.entries.append(entry)
            slots -= entry.slots()

    def entry(self, left):
        right, confidence, _ = self.guesser.guess
        if not self.guesser.offers(left) or not self.coder.bit("event", confidence):
            right = None
        if right:
            entry = Entry(right.what, right.first, right.second, right.run, right.items)
            entry.shape, flags = right.shape, 0
        else:
            entry, flags = self.spell_shape()
        number = self.shapes[entry.shape][0]
        memory = self.memories[number]
        kind, flag = entry.what & 15, flag_of(entry.what)
        if kind == LATE:
            entry.first, entry.second, entry.run = self.late.pop(0)
            return entry
        if not right:
            self.spell_values(entry, number, memory, flags)
            if flag == "list":
                self.spell_items(entry, number, memory, flags)
        if flag == "repeats" and not flags & 4:
            if not (right and self.coder.bit("run", confidence)):
                context = mix(number + 1, memory.run_class + 31)
                if memory.steady():
                    context = mix(context, memory.folded())
                entry.run = self.coder.number("run", number, context) + 1
        second = entry.second
        if KINDS[kind][2] == "call":
            second = signed(entry.second - self.call)
            self.call = entry.second
        memory.learn(entry, second)
        if kind != CHECK:
            self.guesser.learn(entry)
            self.before = [entry.shape, self.before[0]]
            self.place = len(memory.seen) if memory.steady() else 0
        return entry

    def spell_shape(self):
        a, b = self.before
        shape = self.coder.number("shape", a, mix(a + 1, b * 64 + self.place))
        if shape == len(self.shapes):
            self.shapes.append(self.spell_new_shape())
        number, flags = self.shapes[shape]
        entry = Entry(self.words[number])
        entry.shape = shape
        return entry, flags

    def spell_new_shape(self):
        number = self.coder.number("word", 0, 0)
        if number == len(self.words):
            kind, channel, site = (self.coder.number("word", i, i) for i in (1, 2, 3))
            self.words.append(kind | channel << 4 | site << 14)
            self.memories.append(Memory())
        return number, self.coder.number("word", 4, 4)

    def spell_values(self, entry, number, memory, flags):
        entry.first, entry.second = memory.first, memory.second
        if not flags & 1:
            context = memory.folded() if memory.steady() else memory.first
            if KINDS[entry.what & 15][1] == "hash":
                entry.first = self.coder.raw(16)
            else:
                entry.first = self.spell_integer("first", number, mix(number + 1, context))
            if entry.what & 15 == STAMP:
                entry.first = unzigzag(entry.first & MASK)
        if not flags & 2:
            first = 0 if entry.what & 15 == STAMP else entry.first
            context = mix(mix(number + 1, memory.second), first)
            entry.second = self.spell_integer("second", number, context)
        if KINDS[entry.what & 15][2] == "call":
            entry.second = signed(entry.second + self.call)

    def spell_integer(self, column, number, context):
        value = self.coder.number(column, number, context)
        return UNKNOWN + value if value < 2 else signed(value - 2)

    def spell_items(self, entry, number, memory, flags):
        length = 1
        if not flags & 4:
            context = mix(number + 1, len(memory.items) + 999)
            length = self.coder.number("items", number, context)
            goes_on = self.coder.number("items", 63, 63)
            entry.run = length | (GOES_ON if goes_on else 0)
        before = 0
        for i in range(length):
            place = min(i, 3)
            likely = memory.items[i] if i < len(memory.items) else -1
            context = mix(mix(number + 1, place), mix(likely, before))
            step = self.coder.number("items", number * 5 + 1 + place, context)
            before = signed(before + unzigzag(step))
            entry.items.append(before)


def slots_to_entries(data):
    """Entries from plain slots, up to the first empty one."""
    entries, at = [], 0
    while at < len(data):
        entry = Entry(*SLOT.unpack_from(data, at))
        if not entry.what:
            break
        at += 16
        if flag_of(entry.what) == "list":
            length = entry.run % GOES_ON
            entry.items = list(struct.unpack_from(f"<{length}i", data, at))
            at += 16 * ((length + 3) // 4)
        entries.append(entry)
    return entries


class Trace:
    """One rank: its entries in order, its sites and modules, and how it ended."""

    def __init__(self, directory, rank):
        self.rank = rank
        self.entries = []
        self.sites, self.modules = [("", 0, 0)], [""]
        self.ended = False
        self.code = 0
        self.next_segment = 0
        self.read_chunks(self.load(directory, "trace"))
        if not self.ended:
            self.read_log(self.load(directory, "tail"))

    def load(self, directory, kind):
        with open(os.path.join(directory, f"rank-{self.rank}.{kind}"), "rb") as file:
            return file.read()

    def read_chunks(self, data):
        magic, version = struct.unpack_from("<8sI", data)
        if magic != b"RFTRACE\n" or version != 1:
            sys.exit(f"rank {self.rank}: not a trace of version 1")
        at = 24
        # The last chunk of a killed run may not be whole.
        while at + 48 <= len(data):
            magic, kind, length, slots, segment = struct.unpack_from("<IIIIQ", data, at)
            payload = data[at + 48 : at + 48 + length]
            if magic != 0x4B434652 or len(payload) < length:
                return
            at += 48 + length
            if kind in (2, 3):
                if segment != self.next_segment:
                    sys.exit(f"rank {self.rank}: segment {self.next_segment} is missing")
                self.next_segment += 1
                coded = kind == 2
                self.entries += (Segment(payload, slots).entries if coded
                                 else slots_to_entries(payload))
            elif kind == 4:
                self.read_tables(Bytes(payload))
            elif kind == 5:
                self.ended = True
                self.code = struct.unpack_from("<i", payload, 4)[0]

    def read_tables(self, payload):
        self.modules = [""]
        for _ in range(payload.varint()):
            self.modules.append(payload.counted().decode())
            payload.counted()
        self.sites = [("elsewhere", 0, 0)]
        for _ in range(payload.varint()):
            function = payload.counted().decode()
            payload.varint()
            module = payload.varint()
            self.sites.append((function, module, payload.varint()))

    def read_log(self, data):
        if data[:8] != b"RFTAIL\r\n" or struct.unpack_from("<I", data, 8)[0] != 1:
            sys.exit(f"rank {self.rank}: not a log of version 1")
        geometry = struct.unpack_from("<7I", data, 12)
        segments, slots, _, site_room, module_room, name_room, ring = geometry
        sealed = [word % 2**48 for word in struct.unpack_from("<7Q", data, 424)]
        begun, site_count, module_count, end = sealed[0], sealed[2], sealed[3], sealed[5]
        if end:
            self.code = signed(end >> 8)
        if self.code <= -256:  # it left by _exit(), or within a call
            self.code = -self.code & 0xFF
        at = 896
        self.modules = [text(data[at + 288 * i : at + 288 * i + 256]) for i in range(module_count)]
        at += 288 * module_room + 64 * name_room
        self.sites = []
        for i in range(site_count):
            function, _, module, _, offset = struct.unpack_from("<48sHHIQ", data, at + 64 * i)
            self.sites.append((text(function), module, offset))
        for segment in range(self.next_segment, begun):
            start = ring + segment % segments * slots * 16
            self.entries += slots_to_entries(data[start : start + slots * 16])

    def joined(self):
        """Entries with lists in one piece; one whose last piece is missing does not count."""
        entries, open_list = [], None
        for entry in self.entries:
            if open_list:
                open_list.items += entry.items
            else:
                open_list = Entry(entry.what, entry.first, entry.second, entry.run, entry.items)
            if flag_of(entry.what) == "list" and entry.run & GOES_ON:
                continue
            entries.append(open_list)
            open_list = None
        return entries

    def events(self):
        entries = self.joined()
        left_open = []
        for entry in entries:
            if flag_of(entry.what) == "open":
                left_open.append(entry)
            elif entry.what & 15 == LATE:
                meant = left_open[len(left_open) - entry.run]
                meant.first, meant.second = entry.first, entry.second
        number = 0
        thread = None
        for entry in entries:
            if entry.what & 15 == THREAD:
                thread = entry.first
            if entry.what & 15 != END:
                decision = KINDS[entry.what & 15][0] not in ("check", "late", "stamp", "thread")
                event = self.event(entry, number if decision else None)
                if thread is not None:
                    event["thread"] = thread
                yield event
                if decision:
                    number += entry.run if flag_of(entry.what) == "repeats" else 1
        yield {"rank": self.rank, "event": number, "kind": "end", "code": self.code}

    def event(self, entry, number):
        kind, first, second, flag = KINDS[entry.what & 15]
        event = {"rank": self.rank, "event": number, "kind": kind}
        if entry.what & 15 not in (CHECK, THREAD):
            function, module, offset = self.sites[entry.what >> 14]
            event.update(function=function, module=self.modules[module], offset=offset)
        event["channel"] = entry.what >> 4 & 1023
        for column, value in ((first, entry.first), (second, entry.second)):
            if column == "hash":
                event[column] = f"{value:04x}"
            elif column == "call":
                event[column] = value & MASK
            elif column:
                event[column] = None if value in (UNKNOWN, UNDEFINED) else value
        if flag == "back":
            event["back"] = entry.run
        if flag == "list":
            event["list"] = entry.items
        if flag == "repeats":
            event["times"] = entry.run
        return event


def read(directory):
    """All events of all ranks."""
    ranks = sorted({int(match[1]) for name in os.listdir(directory)
                    if (match := re.fullmatch(r"rank-(\d+)\.(trace|tail)", name))})
    for rank in ranks:
        yield from Trace(directory, rank).events()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: decode.py TRACE")
    for line in read(sys.argv[1]):
        print(json.dumps(line, separators=(",", ":")))
