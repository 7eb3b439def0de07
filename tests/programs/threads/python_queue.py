#!/usr/bin/env python3
"""Worker threads that take tasks from one queue and put results into another.

Python passes its lock on by a clock that looks into the running thread: that cannot be repeated from
outside, so the interval is one that never comes. Threads still change places whenever one waits, or
computes outside of the lock as hashlib does.
"""

import hashlib
import queue
import random
import sys
import threading

WORKERS, TASKS = 4, 60
sys.setswitchinterval(1000)
noise = [random.SystemRandom().randrange(3000, 60000) for _ in range(TASKS)]


def work(number, tasks, results, done):
    while (task := tasks.get()) is not None:
        hashlib.sha256(bytes(noise[task])).digest()
        results.put((number, task))
        if task % 7 == 0:
            with done:
                done.notify_all()
    results.put((number, -1))


def main():
    tasks, results, done = queue.Queue(5), queue.Queue(), threading.Condition()
    workers = [threading.Thread(target=work, args=(i + 1, tasks, results, done))
               for i in range(WORKERS)]
    for worker in workers:
        worker.start()
    for task in range(TASKS):
        tasks.put(task)
    for _ in workers:
        tasks.put(None)
    for worker in workers:
        worker.join()
    order = [results.get_nowait() for _ in range(results.qsize())]
    digest = hashlib.sha256(repr(order).encode()).hexdigest()
    print(f"results: {len(order)} steps, {digest[:16]}:", *(who for who, _ in order[:12]))
    for number in range(1, WORKERS + 1):
        print(f"thread {number}:", *(task for who, task in order if who == number))


main()
