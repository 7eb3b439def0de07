# mpi4py's clock, Python's own, and random numbers, in ranks.
import os
import random
import time

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.Get_rank()
begin = MPI.Wtime()
mine = (random.random(), os.urandom(4).hex(), time.time(), os.getpid())
peer = (rank + 1) % comm.Get_size()
request = comm.isend(mine, peer, tag=3)
status = MPI.Status()
other = comm.recv(source=MPI.ANY_SOURCE, tag=3, status=status)
request.wait()
print(f"rank {rank}: {begin} {mine} {other} {status.Get_source()} {MPI.Wtime() - begin}", flush=True)
rounds = 0
while MPI.Wtime() - begin < 0.05:
    rounds += 1
print(f"rank {rank}: {rounds} rounds, {hash('text')}, {time.monotonic()}", flush=True)
