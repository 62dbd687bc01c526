"""A small process that outlives a driver that is killed: it ends what is left of the driver's private Ray.

Ray's own processes notice the death of the one who started them, but some only after minutes, and nobody takes the
session's folder away. Run as a script (nothing of ragauge is imported): `guard.py FOLDER DRIVER_PID`. It waits until
its stdin ends, which it does with the driver however that ends.
"""

import os
import shutil
import signal
import sys
import time

#: Rounds of killing, a quarter of a second apart: what is killed may just be starting something else.
ROUNDS = 8


def holders(folder: str, spared: set[int]) -> list[int]:
    """Processes that have a file of `folder` open: all of Ray's write their logs there."""
    found = []
    for name in os.listdir("/proc") if os.path.isdir("/proc") else []:
        if not name.isdigit() or int(name) in spared:
            continue
        try:
            links = [os.readlink(f"/proc/{name}/fd/{number}") for number in os.listdir(f"/proc/{name}/fd")]
        except OSError:  # it is not ours, or gone
            continue
        if any(link.startswith(folder + "/") for link in links):
            found.append(int(name))
    return found


def main(folder: str, driver: int) -> None:
    """Wait for the driver's end, then clean up."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while sys.stdin.buffer.read(1):
        pass
    for _ in range(ROUNDS):
        left = holders(folder, {driver, os.getpid()})
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue
        if not left:
            break
        time.sleep(0.25)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
