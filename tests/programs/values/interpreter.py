# What a Python program sees of the outside, and what it makes of that.
import os
import queue
import random
import resource
import sys
import threading
import time
import uuid


def say(*words):
    print("thread 0:", *words, flush=True)


say(time.time(), time.time_ns(), time.monotonic(), time.perf_counter(), time.process_time())
say(time.ctime(), time.localtime())
say(os.urandom(8).hex(), random.random(), uuid.uuid4(), random.SystemRandom().randrange(10**9))
say(os.getpid(), os.getppid(), threading.get_native_id())
say(hash("text"), {"one", "two", "three", "four"})
say(id(object()), object())
# The interpreter has its environment in its memory, before all else of the program's.
say([id(text) for variable in os.environ._data.items() for text in variable])
say(resource.getrusage(resource.RUSAGE_SELF).ru_utime, os.times().elapsed)
with open("/dev/urandom", "rb", buffering=0) as file:
    say(file.read(8).hex())
with open("/dev/urandom", "rb") as file:
    say(file.read(8).hex())
rounds = 0
begin = time.perf_counter()
while time.perf_counter() - begin < 0.002:
    rounds += 1
say(rounds, "rounds")
time.sleep(0.01)
say(time.monotonic())

# When a thread has run for too long it hands over by a flag that is polled, which nobody sees.
sys.setswitchinterval(1000)
todo = queue.Queue()
done = []
lock = threading.Lock()


def work(name):
    while (item := todo.get()) is not None:
        time.sleep(random.random() * 0.001)
        with lock:
            done.append((name, item, time.monotonic_ns()))


threads = [threading.Thread(target=work, args=(name,)) for name in "abc"]
for thread in threads:
    thread.start()
for item in range(30):
    todo.put(item)
for thread in threads:
    todo.put(None)
for thread in threads:
    thread.join()
say(done)
sys.exit(0)
