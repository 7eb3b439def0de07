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
]
NONE, LATE, CHECK, END = 4, 9, 10, 11
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
    FAST = [10923, 6554, 4681, 3641, 2979, 2521, 2185, 1928, 1725, 1560, 1425, 1311, 1214, 1130,
            1057, 1024]
    SLOW = FAST[:15] + [256]
    TRUST = [0, 4, 7, 9, 10, 11, 12, 12, 13, 13, 14, 14, 14, 15, 15, 15]

    def __init__(self):
        self.fast = self.slow = 0x8000
        self.seen = 0

    def probability(self):
        return (self.fast + self.slow) >> 1

    def learn(self, bit):
        target = 65535 if bit else 0
        self.fast = self.fast + ((target - self.fast) * self.FAST[self.seen] >> 14) & 0xFFF0
        self.slow += (target - self.slow) * self.SLOW[self.seen] >> 14
        self.seen = min(self.seen + 1, 15)


def within(probability):
    return min(max(probability, 16), 65520)


class Nodes(dict):
    """Nodes by any key, made when they are first met."""

    def __missing__(self, key):
        self[key] = Node()
        return self[key]


class Stream:
    def __init__(self, data):
        self.data, self.at = data, 0
        self.low, self.high, self.value = 0, MASK, 0
        for _ in range(4):
            self.value = self.value << 8 | self.next_byte()
        self.nodes = Nodes()

    def next_byte(self):
        self.at += 1
        return self.data[self.at - 1] if self.at <= len(self.data) else 0

    def raw(self, probability):
        middle = self.low + ((self.high - self.low) * probability >> 16)
        bit = self.value <= middle
        if bit:
            self.high = middle
        else:
            self.low = middle + 1
        while self.low >> 24 == self.high >> 24:
            self.low = self.low << 8 & MASK
            self.high = self.high << 8 & MASK | 255
            self.value = self.value << 8 & MASK | self.next_byte()
        return int(bit)

    def bit(self, *key):
        node = self.nodes[key]
        bit = self.raw(within(node.probability()))
        node.learn(bit)
        return bit

    def mixed_bit(self, general, special, *key):
        one, other = self.nodes["general", general, key], self.nodes["special", special, key]
        g, s = one.probability(), other.probability()
        bit = self.raw(within(g + ((s - g) * Node.TRUST[other.seen] >> 4)))
        one.learn(bit)
        other.learn(bit)
        return bit

    def number(self, general, special):
        size = 0
        while size < 33 and self.mixed_bit(general, special, "unary", size):
            size += 1
        prefix = 1
        for i in range(size):
            if size <= 6:
                bit = self.mixed_bit(general, special, "small", (1 << size) - 2 + prefix)
            elif i < 3:
                bit = self.mixed_bit(general, special, "large", size - 6, prefix)
            else:
                bit = self.raw(32768)
            prefix = prefix << 1 | bit
        return prefix - 1

    def hashed(self, general, special):
        return self.number(general % 64, (special * 0x9E3779B1 & MASK) >> 24)


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
        h = mix(mix(self.what, self.first), self.second)
        if flag_of(self.what) == "list":
            h = mix(h, len(self.items))
            for item in self.items:
                h = mix(h, item)
        return h


class Guesser:
    """One of the three orders."""

    ROLL = 0x2C1B3C6D

    def __init__(self, order, least):
        self.order, self.least = order, least
        self.context = 0
        self.hashes = [0] * order
        self.table = [[None, 0, 0] for _ in range(4096)]

    def look(self, nothing):
        key = mix(self.context, nothing) * 0x9E3779B1 & MASK
        self.guess = self.table[key >> 20]
        check = key >> 12 & 255
        if self.guess[2] != check:
            self.guess[:] = [None, 0, check]

    def offers(self, left):
        entry, confidence, _ = self.guess
        return (entry and confidence >= self.least and entry.what & 15 != LATE
                and entry.slots() <= left)

    def learn(self, entry):
        if self.guess[0] and entry.equals(self.guess[0]):
            self.guess[1] = min(self.guess[1] + 1, 15)
        else:
            self.guess[1] = 0
        self.guess[0] = entry
        if entry.what & 15 != NONE:
            h = entry.hash()
            gone = self.hashes.pop(0) * pow(self.ROLL, self.order, 2**32)
            self.hashes.append(h)
            self.context = (self.context * self.ROLL + h - gone) & MASK


class Memory:
    """What a word remembers of its last entry."""

    def __init__(self):
        self.first = self.second = self.run_class = 0
        self.items = []
        self.seen = self.cycle = self.equal_cycles = 0

    def steady(self):
        return self.equal_cycles >= 3

    def folded(self):
        return (self.seen ^ self.seen >> 32) & MASK

    def learn(self, entry):
        self.first, self.second, self.items = entry.first, entry.second, entry.items
        repeated = False
        if flag_of(entry.what) == "repeats":
            self.run_class = entry.run.bit_length() - 1
            repeated = entry.run > 1
        bit = 1 << entry.first % 64
        if self.seen & bit or repeated:
            seen = self.seen | bit if repeated else self.seen
            length = bin(seen).count("1")
            self.equal_cycles = self.equal_cycles + 1 if length == self.cycle else 0
            self.cycle = length
            self.seen = bit
        else:
            self.seen |= bit


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
        lengths = [payload.varint() for _ in range(6)]
        streams = [Stream(payload.take(length)) for length in lengths]
        self.flow, self.what, self.first, self.second, self.run, self.items = streams
        self.words, self.memories = [], []
        self.before = [0, 0]
        self.call = 0
        self.guessers = [Guesser(16, 1), Guesser(6, 3), Guesser(2, 8)]
        self.entries = []
        nothing = 0
        while slots:
            for guesser in self.guessers:
                guesser.look(nothing)
            entry = self.entry(slots)
            for guesser in self.guessers:
                guesser.learn(entry)
            self.entries.append(entry)
            slots -= entry.slots()
            nothing = mix(entry.what, entry.first) | 1 if entry.what & 15 == NONE else 0

    def entry(self, left):
        right = None
        for order, guesser in enumerate(self.guessers):
            if guesser.offers(left):
                guess, confidence, _ = guesser.guess
                if self.flow.bit("event", order, confidence):
                    right = guess
                break
        if right:
            entry = Entry(right.what, right.first, right.second, right.run, right.items)
            number = self.number_of(entry.what)
        else:
            number = self.spell_what()
            entry = Entry(self.words_at)
            self.spell(entry, number)
        memory = self.memories[number]
        if flag_of(entry.what) == "repeats":
            if not (right and self.flow.bit("run", order, confidence)):
                context = mix(number + 1, memory.run_class + 31)
                if memory.steady():
                    context = mix(context, memory.folded())
                entry.run = self.run.hashed(number, context) + 1
        memory.learn(entry)
        self.before = [number, self.before[0]]
        return entry

    def number_of(self, what):
        return self.words.index(what) if what in self.words else 4095

    def spell_what(self):
        a, b = self.before
        number = self.what.hashed(a, mix(a + 1, b + 1))
        if number < len(self.words):
            self.words_at = self.words[number]
            return number
        kind, channel, site = (self.what.number(63 - i, i) for i in range(3))
        self.words_at = kind | channel << 4 | site << 14
        if len(self.words) < 4096:
            self.words.append(self.words_at)
            self.memories.append(Memory())
        return len(self.words) - 1

    def spell(self, entry, number):
        _, first, second, flag = KINDS[entry.what & 15]
        if flag == "back":
            entry.first, entry.second, entry.run = self.late.pop(0)
            return
        memory = self.memories[number]
        if first:
            context = mix(number + 1, memory.folded() if memory.steady() else memory.first)
            entry.first = self.spell_column(self.first, first, number, memory.first, context)
        if second:
            context = mix(mix(number + 1, memory.second), entry.first)
            entry.second = self.spell_column(self.second, second, number, memory.second, context)
        if flag == "list":
            self.spell_items(entry, number, memory)

    def spell_column(self, stream, column, number, last, context):
        if column == "call":
            self.call = signed(self.call + stream.hashed(number, mix(number, 77)))
            return self.call
        if stream.bit("same", number % 64):
            return last
        value = stream.hashed(number, context)
        return UNKNOWN if value == 0 else UNDEFINED if value == 1 else unzigzag(value - 2)

    def spell_items(self, entry, number, memory):
        length = self.items.hashed(number, mix(number + 1, len(memory.items) + 999))
        entry.run = length | (GOES_ON if self.items.bit("goes on") else 0)
        before = 0
        for i in range(length):
            place = min(i, 3)
            likely = memory.items[i] if i < len(memory.items) else -1
            context = mix(mix(number + 1, place), mix(likely, before))
            before = signed(before + unzigzag(self.items.hashed(number * 5 + 1 + place, context)))
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
        self.modules = []
        for _ in range(payload.varint()):
            self.modules.append(payload.counted().decode())
            payload.counted()
        self.sites = []
        for _ in range(payload.varint()):
            function = payload.counted().decode()
            payload.varint()
            module = payload.varint()
            self.sites.append((function, module, payload.varint()))

    def read_log(self, data):
        if data[:8] != b"RFTAIL\r\n" or struct.unpack_from("<I", data, 8)[0] not in (1, 2):
            sys.exit(f"rank {self.rank}: not a log of version 1")
        geometry = struct.unpack_from("<7I", data, 12)
        segments, slots, _, site_room, module_room, name_room, ring = geometry
        sealed = [word % 2**48 for word in struct.unpack_from("<7Q", data, 424)]
        begun, site_count, module_count, end = sealed[0], sealed[2], sealed[3], sealed[5]
        if end:
            self.code = signed(end >> 8)
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
        for entry in entries:
            if entry.what & 15 != END:
                decision = KINDS[entry.what & 15][0] not in ("check", "late")
                yield self.event(entry, number if decision else None)
                if decision:
                    number += entry.run if flag_of(entry.what) == "repeats" else 1
        yield {"rank": self.rank, "event": number, "kind": "end", "code": self.code}

    def event(self, entry, number):
        kind, first, second, flag = KINDS[entry.what & 15]
        event = {"rank": self.rank, "event": number, "kind": kind}
        if entry.what & 15 != CHECK:
            function, module, offset = self.sites[entry.what >> 14]
            event.update(function=function, module=self.modules[module], offset=offset)
        event["channel"] = entry.what >> 4 & 1023
        for column, value in ((first, entry.first), (second, entry.second)):
            if column == "hash":
                event[column] = f"{value & MASK:08x}"
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
