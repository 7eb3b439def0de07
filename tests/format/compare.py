#!/usr/bin/env python3
"""Does the reader that was written from docs/format.md see what `refrain dump --all --json` sees?

Usage: compare.py REFRAIN PROGRAMS MAKE_CORPUS
Records test programs under each MPI that is there, leaves logs behind by killing ranks, takes the
streams of the fuzzer's corpus, and compares both readers event by event.
"""
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time

import decode

# Program, arguments, number of ranks.
RUNS = [
    ("testsome", [], 4),
    ("errors_wait", [], 4),
    ("irecv_wildcard", [], 4),
    ("cancel", [], 4),
    ("thr_complete", [], 4),
    ("longrun", ["4000"], 2),
    ("crash", ["segfault", "25"], 4),
    ("crash", ["mpi_abort"], 3),
]
# What `dump` adds from elsewhere: debug information, and words about the end.
BEYOND_THE_FORMAT = ("at", "ending")

environment = dict(
    os.environ,
    OMPI_ALLOW_RUN_AS_ROOT="1",
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
    OMPI_MCA_rmaps_base_oversubscribe="1",
    PRTE_MCA_rmaps_default_mapping_policy=":oversubscribe",
)


def dumped(refrain, trace, *options):
    output = subprocess.run([refrain, "dump", "--all", "--json", *options, trace], check=True,
                            stdout=subprocess.PIPE)
    events = [json.loads(line) for line in output.stdout.splitlines()]
    events = [event for event in events if "operation" not in event]  # those of the threads' log
    for event in events:
        for key in BEYOND_THE_FORMAT:
            event.pop(key, None)
    return events


def compare(refrain, trace, name, *options):
    ours, theirs = list(decode.read(trace)), dumped(refrain, trace, *options)
    for one, other in zip(ours, theirs):
        if one != other:
            sys.exit(f"{name}: the document says {one}, refrain {other}")
    if len(ours) != len(theirs):
        sys.exit(f"{name}: the document says {len(ours)} events, refrain {len(theirs)}")
    kinds = len({event["kind"] for event in ours})
    print(f"{name}: {len(ours)} lines of {kinds} kinds, the same", flush=True)


def recording(refrain, trace, mpi, ranks, program):
    return [refrain, "record", "--quiet", "-o", trace, "--", f"mpirun.{mpi}", "-n", str(ranks),
            *program]


def kill_midway(command, trace):
    """Kills rank 0 once its trace file has an events chunk."""
    path = os.path.join(trace, "rank-0.")
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    while not os.path.exists(path + "trace") or os.path.getsize(path + "trace") < 2000:
        if process.poll() is not None:
            sys.exit(f"{' '.join(command)}: ended by itself")
        time.sleep(0.001)
    with open(path + "tail", "rb") as log:
        pid = struct.unpack_from("<i", log.read(416), 40 + 12)[0]
    os.kill(pid, 9)
    process.wait()


def compare_corpus(refrain, make_corpus, place, manifest):
    """The trace files of made-up streams, which have all kinds of events."""
    corpus, trace = os.path.join(place, "corpus"), os.path.join(place, "made-up")
    os.mkdir(corpus)
    os.mkdir(trace)
    shutil.copy(manifest, trace)
    subprocess.run([make_corpus, corpus], check=True)
    for name in sorted(os.listdir(os.path.join(corpus, "trace"))):
        shutil.copy(os.path.join(corpus, "trace", name), os.path.join(trace, "rank-0.trace"))
        # The streams claim to be of a larger job; only this rank is there.
        compare(refrain, trace, f"made-up {name}", "--rank", "0")


def main():
    refrain, programs, make_corpus = sys.argv[1:]
    with tempfile.TemporaryDirectory() as place:
        manifest = None
        for mpi in ("openmpi", "mpich"):
            if not shutil.which(f"mpirun.{mpi}"):
                print(f"{mpi} is not installed")
                continue
            for number, (program, arguments, ranks) in enumerate(RUNS):
                trace = os.path.join(place, f"{mpi}-{number}")
                words = [os.path.join(programs, mpi, program), *arguments]
                subprocess.run(recording(refrain, trace, mpi, ranks, words), env=environment,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
                compare(refrain, trace, " ".join([mpi, program, *arguments]))
                manifest = manifest or os.path.join(trace, "manifest.json")
            trace = os.path.join(place, f"{mpi}-killed")
            words = [os.path.join(programs, mpi, "longrun"), "1000000000"]
            kill_midway(recording(refrain, trace, mpi, 1, words), trace)
            compare(refrain, trace, f"{mpi} longrun, killed")
        if manifest and os.path.exists(make_corpus):
            compare_corpus(refrain, make_corpus, place, manifest)


if __name__ == "__main__":
    main()
