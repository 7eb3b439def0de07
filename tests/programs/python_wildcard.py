"""mpi4py: pickled and plain wildcard receives, wait-any, and a polled barrier."""

import random
import time
from array import array

from mpi4py import MPI
from observe import observe, observe_close

ROUNDS = 8
comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()


def dawdle():
    time.sleep(random.random() * 0.0003)


def pickled():
    status = MPI.Status()
    for _ in range((size - 1) * ROUNDS):
        message = comm.recv(source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG, status=status)
        observe("source", status.Get_source())
        observe("message", sorted(message.items()))


def send_pickled():
    for i in range(ROUNDS):
        dawdle()
        comm.send({"rank": rank, "turn": i}, dest=0, tag=i % 3)


def plain():
    count = (size - 1) * ROUNDS
    words = [array("i", [0]) for _ in range(count)]
    requests = [comm.Irecv([word, MPI.INT], MPI.ANY_SOURCE, MPI.ANY_TAG) for word in words]
    for _ in range(count):
        index = MPI.Request.Waitany(requests)
        observe("index", index)
        observe("word", words[index][0])


def send_plain():
    for i in range(ROUNDS):
        dawdle()
        comm.Send([array("i", [rank * 1000 + i]), MPI.INT], dest=0, tag=i % 3)


for receive, send in ((pickled, send_pickled), (plain, send_plain)):
    comm.Barrier()
    if rank == 0:
        receive()
    else:
        send()
barrier = comm.Ibarrier()
failed = 0
while not barrier.Test():
    failed += 1
observe("failed", failed)
observe_close()
