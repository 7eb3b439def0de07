"""What a rank sees is hashed, as observe.h does it for C, and written to PROGRAM_LOG if there is such a directory."""

import os

from mpi4py import MPI

rank = MPI.COMM_WORLD.Get_rank()
digest = 14695981039346656037
log = None
if "PROGRAM_LOG" in os.environ:
    path = os.path.join(os.environ["PROGRAM_LOG"], f"rank-{rank}.log")
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)


def observe(what, value):
    global digest
    line = f"{what} {value}\n".encode()
    for byte in line:
        digest = (digest ^ byte) * 1099511628211 % 2**64
    if log is not None:
        os.write(log, line)


def observe_close():
    os.write(1, f"rank {rank}: {digest:016x}\n".encode())
