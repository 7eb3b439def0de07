# mpi4py's clock, Python's own, and random numbers, in ranks.
import os
import random
import time

from mpi4py import MPI



def say(text):
    # In one piece: the lines of the ranks must not be mixed.
    os.write(1, f"rank {rank}: {text}\n".encode())


comm = MPI.COMM_WORLD
rank = comm.Get_rank()
begin = MPI.Wtime()
mine = (random.random(), os.urandom(4).hex(), time.time(), os.getpid())
peer = (rank + 1) % comm.Get_size()
request = comm.isend(mine, peer, tag=3)
status = MPI.Status()
other = comm.recv(source=MPI.ANY_SOURCE, tag=3, status=status)
request.wait()
say(f"{begin} {mine} {other} {status.Get_source()} {MPI.Wtime() - begin}")
rounds = 0
while MPI.Wtime() - begin < 0.05:
    rounds += 1
say(f"{rounds} rounds, {hash('text')}, {time.monotonic()}")
