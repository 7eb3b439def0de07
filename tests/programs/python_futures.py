"""mpi4py.futures: a pool of ranks. A thread of rank 0 hands out the work and polls for what comes back."""

import sys
from concurrent.futures import as_completed

from mpi4py import MPI
from mpi4py.futures import MPICommExecutor
from observe import observe, observe_close

TASKS = 30
sys.setswitchinterval(1000)  # a thread gives up the interpreter when it waits, and not by time, which is not kept


def work(number):
    return number, MPI.COMM_WORLD.Get_rank(), sum(1 / i for i in range(1, 500 + number % 7 * 300))


with MPICommExecutor(MPI.COMM_WORLD, root=0) as pool:
    if pool is not None:
        for future in as_completed([pool.submit(work, number) for number in range(TASKS)]):
            observe("result", future.result())
observe_close()
