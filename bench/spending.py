"""What a command takes, and how that grows with the work: exponents, what one more costs, and what any run costs."""

import math
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

LEAST_WORK_S = 0.5
"""CPU seconds of work below which its growth cannot be told from noise."""
WAIT: Final = """
import ctypes, os, subprocess, sys
# What the command leaves behind, such as a server that forks its workers, becomes this process's child and is counted.
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
code, cpu_s, peak_kib = 0, 0.0, 0
while True:
    try:
        pid, status, usage = os.wait3(0)
    except ChildProcessError:
        break
    if pid == process.pid:
        code = os.waitstatus_to_exitcode(status)
    cpu_s, peak_kib = cpu_s + usage.ru_utime + usage.ru_stime, max(peak_kib, usage.ru_maxrss)
process.returncode = code
print(code, cpu_s, peak_kib)
"""
"""Runs a command from a small process, since the kernel counts the memory of the one that forks as the command's."""


@dataclass(frozen=True)
class Spent:
    """What one command took, with the processes that it started."""

    wall_s: float
    cpu_s: float
    """User and system time."""
    peak_mib: float
    """Resident memory of the largest of its processes."""


def spend(command: Sequence[str], *, ok: Sequence[int] = (0,)) -> Spent:
    """Run a command.

    Raises:
        RuntimeError: It ended otherwise than expected.
    """
    begun = time.monotonic()
    waited = subprocess.run(
        [sys.executable, "-S", "-c", WAIT, *command], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    code, cpu_s, peak_kib = waited.stdout.split()
    if int(code) not in ok:
        raise RuntimeError(f"{' '.join(command)} ended with {int(code)}")
    return Spent(time.monotonic() - begun, float(cpu_s), float(peak_kib) / 1024)


def reeltalk(*arguments: str) -> list[str]:
    """The command line in a process of its own."""
    return [sys.executable, "-m", "reeltalk", *arguments]


@dataclass
class Growth:
    """One kind of work at several sizes."""

    what: str
    unit: str
    """Of what there are more and more, as `videos`."""
    sizes: list[int] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)
    wall_s: list[float] = field(default_factory=list)
    peak_mib: list[float] = field(default_factory=list)

    def add(self, size: int, spent: Spent) -> None:
        """One more size, larger than those before."""
        self.sizes.append(size)
        self.cpu_s.append(spent.cpu_s)
        self.wall_s.append(spent.wall_s)
        self.peak_mib.append(spent.peak_mib)

    @property
    def fixed_s(self) -> float:
        """CPU seconds that any run costs: what the smallest took, less its own work at the cost of one more then."""
        one = (self.cpu_s[1] - self.cpu_s[0]) / (self.sizes[1] - self.sizes[0])
        return max(0.0, self.cpu_s[0] - one * self.sizes[0])

    @property
    def exponent(self) -> float | None:
        """Of the work beyond what any run costs, between the two largest sizes: 1 is linear, 2 is quadratic.

        None where two sizes are all there are, or where the smaller one's work is lost in what any run costs.
        """
        small, large = (cpu - self.fixed_s for cpu in self.cpu_s[-2:])
        if len(self.sizes) < 3 or small < LEAST_WORK_S:
            return None
        return math.log(large / small) / math.log(self.sizes[-1] / self.sizes[-2])

    def figures(self) -> dict[str, float]:
        """All that was measured, by name."""
        found = {}
        for place, size in enumerate(self.sizes):
            for name, values in (("CPU s", self.cpu_s), ("wall s", self.wall_s), ("peak MiB", self.peak_mib)):
                found[f"{self.what}, {size} {self.unit}: {name}"] = values[place]
        return found
