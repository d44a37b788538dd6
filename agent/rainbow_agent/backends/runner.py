"""Runs one job and tells the truth about it: `python -I -S runner.py DIRECTORY`. Standard library only.

It outlives the agent. It claims the run by linking `claim` into place (whoever comes second runs nothing), starts
the tasks, copies their output into bounded files, enforces the time limit, ends the job on SIGTERM, and leaves
`result` behind, complete or not at all. It reads `spec` and knows nothing else of Rainbow.

One file on purpose, though a long one: the agent compiles it into its state directory, so that an upgrade cannot
change half of what a job runs under, and `-I` leaves no path from which a second file could be imported.
"""

# Every import is paid for by every job, and json, pathlib, contextlib and typing take longer than all the rest
# together. So the specification comes marshalled, and the result is written as JSON by hand.
# ruff: noqa: PTH104, PTH108, PTH118, PTH123

import ctypes
import errno
import marshal
import os
import select
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable
    from typing import Any
else:
    try:
        import _signal as signal  # what `signal` wraps in enums
    except ImportError:
        import signal

COPY_BYTES = 256 * 1024
DRAIN_S = 1.0  # how long output is awaited after every process is gone that could still hold the pipes
SIGNALS = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD}
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
EXIT_CLAIMED = 75
EXIT_NOT_FOUND = 127
EXIT_NOT_STARTED = 126

libc = ctypes.CDLL(None)


def own_start_ticks() -> int:
    """Field 22 of /proc/self/stat: with the pid it names this process and no later one. The name may hold spaces."""
    with open("/proc/self/stat", "rb") as stat:
        return int(stat.read().rpartition(b")")[2].split()[19])


def write_whole(directory: str, name: str, document: "dict[str, Any]", durable: bool) -> str:
    """A file with this content under a name that nobody reads yet."""
    path = os.path.join(directory, name)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        data = as_json(document)
        while data:  # a disk that is nearly full takes a part
            data = data[os.write(fd, data) :]
        if durable:
            os.fsync(fd)
    finally:
        os.close(fd)
    return path


def as_json(document: "dict[str, Any]") -> bytes:
    """Flat, of numbers, truth values, None and text."""
    words = {None: "null", True: "true", False: "false"}
    fields = []
    for key, value in document.items():
        if isinstance(value, str):
            units = value.encode("utf-16-be", "replace")
            codes = [units[at] << 8 | units[at + 1] for at in range(0, len(units), 2)]
            plain = (chr(code) if 31 < code < 127 and code not in b'"\\' else f"\\u{code:04x}" for code in codes)
            text = '"' + "".join(plain) + '"'
        elif value is None or isinstance(value, bool):
            text = words[value]
        else:
            text = repr(value)
        fields.append(f'"{key}": {text}')
    return ("{" + ", ".join(fields) + "}").encode()


def sent(send: "Callable[[int, int], None]", target: int, number: int) -> bool:
    """Whether there was somebody to signal: all may be gone, or have become someone else by setuid."""
    try:
        send(target, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def claim(directory: str) -> bool:
    """True for the one runner (or fencing agent) that got here first. A link appears complete or not at all."""
    with open("/proc/sys/kernel/random/boot_id") as file:
        boot_id = file.read().strip()
    document = {"pid": os.getpid(), "start_ticks": own_start_ticks(), "boot_id": boot_id}
    mine = write_whole(directory, f"claim.{os.getpid()}", document, durable=False)
    try:
        os.link(mine, os.path.join(directory, "claim"))
    except FileExistsError:
        return False
    finally:
        os.unlink(mine)
    return True


class Stream:
    """One pipe from the tasks into one bounded file. Past the bound it is still drained, but dropped."""

    def __init__(self, path: str, limit: int) -> None:
        self.reader, self.writer = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self.reader, False)
        self.file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self.left = limit
        self.truncated = False
        self.open = True

    def copy(self) -> bool:
        """What is there now; False at the end."""
        try:
            data = os.read(self.reader, COPY_BYTES)
        except BlockingIOError:
            return True
        if not data:
            self.open = False
            return False
        kept = data[: self.left]
        if len(kept) < len(data):
            self.truncated = True
        self.left -= len(kept)
        while kept:
            try:
                kept = kept[os.write(self.file, kept) :]
            except OSError:  # the disk is full: the job goes on, its output is cut here
                self.truncated = True
                self.left = 0
                break
        return True


class Job:
    def __init__(self, directory: str, spec: "dict[str, Any]") -> None:
        self.spec = spec
        self.limit_s = spec["time_limit_s"]
        self.grace_s = spec["kill_grace_s"]
        self.out = Stream(os.path.join(directory, "stdout"), spec["output_bytes_max"])
        self.err = Stream(os.path.join(directory, "stderr"), spec["output_bytes_max"])
        self.pids: list[int] = []
        self.group: int | None = None
        self.codes: dict[int, int] = {}
        self.ending: str | None = None  # why we are ending it: "timeout" or "cancel"
        self.kill_at: float | None = None
        self.problem: tuple[int, str] | None = None  # (exit code, words) when a task could not be started
        self.started = time.time()

    # --- starting

    def start(self) -> None:
        """Nothing is reaped before every task has joined: a zombie leader keeps the group's number taken."""
        index = 0
        for share in self.spec["shares"]:
            for gpus in share["gpus"]:
                env = dict(self.spec["env"])
                env["RAINBOW_TASK_ID"] = str(index)
                env["RAINBOW_NODE"] = share["node"]
                if gpus:
                    env["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, gpus))
                self.problem = self.start_task(env)
                if self.problem is not None:
                    return
                index += 1

    def start_task(self, env: dict[str, str]) -> tuple[int, str] | None:
        failed, tell = os.pipe2(os.O_CLOEXEC)
        runner = os.getpid()
        try:
            pid = os.fork()
        except OSError as cause:
            os.close(failed)
            os.close(tell)
            return EXIT_NOT_STARTED, f"cannot start task {env['RAINBOW_TASK_ID']}: {cause.strerror}"
        if pid == 0:
            self.become_task(env, tell, runner)
        os.close(tell)
        if self.group is None:
            self.group = pid
        try:
            os.setpgid(pid, self.group)
        except OSError as cause:
            # It did so itself and is past exec by now, or gone. Either way it is in the group.
            if cause.errno not in (errno.EACCES, errno.ESRCH, errno.EPERM):
                raise
        self.pids.append(pid)
        if len(self.pids) == 1:
            say_that_it_runs()
        told = os.read(failed, 4096)
        os.close(failed)
        if not told:
            return None
        code, _, words = told.decode(errors="replace").partition(" ")
        return int(code), words

    def become_task(self, env: dict[str, str], tell: int, runner: int) -> None:
        """The child's side of the fork: never returns."""
        command = self.spec["command"]
        code = EXIT_NOT_STARTED
        words = "cannot prepare the task"
        try:
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if os.getppid() != runner:  # it died before the line above could help
                os._exit(code)
            os.setpgid(0, self.group or 0)
            null = os.open(os.devnull, os.O_RDONLY)
            os.dup2(null, 0)
            os.dup2(self.out.writer, 1)
            os.dup2(self.err.writer, 2)
            signal.set_wakeup_fd(-1)
            for number in (*SIGNALS, signal.SIGPIPE, signal.SIGXFSZ):
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, ())
            words = f"cannot enter the working directory {self.spec['cwd']}"
            os.chdir(self.spec["cwd"])
            env["PWD"] = self.spec["cwd"]
            words = f"cannot run {command[0]}"
            os.execvpe(command[0], command, env)  # noqa: S606 - running it is the point
        except Exception as cause:  # whatever it is, it is told: there is nobody above us to raise to
            if isinstance(cause, FileNotFoundError) and words.startswith("cannot run"):
                code, words = EXIT_NOT_FOUND, f"command not found: {command[0]}"
            else:
                words += f": {getattr(cause, 'strerror', None) or cause}"
            os.write(tell, f"{code} {words}".encode()[:4096])
        finally:
            os._exit(code)

    # --- running

    def run(self, wakeup: int) -> None:
        os.close(self.out.writer)
        os.close(self.err.writer)
        poll = select.poll()
        streams = {self.out.reader: self.out, self.err.reader: self.err}
        for fd in (wakeup, *streams):
            poll.register(fd, select.POLLIN)
        limit_at = None if self.limit_s is None else time.monotonic() + self.limit_s
        if self.problem is not None:
            self.signal_group(signal.SIGKILL)
        while not self.all_over():
            now = time.monotonic()
            if limit_at is not None and now >= limit_at:
                limit_at = None
                self.end("timeout")
            if self.kill_at is not None and now >= self.kill_at:
                self.kill_at = None
                self.signal_group(signal.SIGKILL)
            deadlines = [at for at in (limit_at, self.kill_at) if at is not None]
            timeout_ms = None if not deadlines else max(0.0, min(deadlines) - now) * 1000 + 1
            self.pump(poll, streams, wakeup, timeout_ms)
        self.clean_up()
        until = time.monotonic() + DRAIN_S
        while (self.out.open or self.err.open) and (left := until - time.monotonic()) > 0:
            self.pump(poll, streams, wakeup, left * 1000)

    def pump(self, poll: "select.poll", streams: dict[int, Stream], wakeup: int, timeout_ms: float | None) -> None:
        for fd, _ in poll.poll(timeout_ms):
            if fd == wakeup:
                if {signal.SIGTERM, signal.SIGINT, signal.SIGHUP} & set(os.read(wakeup, 4096)):
                    self.end("cancel")
            elif not streams[fd].copy():
                poll.unregister(fd)

    def all_over(self) -> bool:
        """Whether every task has exited. The group's leader stays a zombie until `clean_up`."""
        for pid in self.pids:
            if pid not in self.codes:
                keep = os.WNOWAIT if pid == self.group else 0
                status = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | keep)
                if status is not None:
                    exited = status.si_code == os.CLD_EXITED
                    self.codes[pid] = status.si_status if exited else -status.si_status
        return len(self.codes) == len(self.pids)

    def end(self, why: str) -> None:
        if self.ending is None:
            self.ending = why
            self.kill_at = time.monotonic() + self.grace_s
            self.signal_group(signal.SIGTERM)

    def signal_group(self, number: int) -> None:
        """All tasks: their group, and those that left it, as timeout(1) and setsid(1) do."""
        if self.group is None:
            return
        sent(os.killpg, self.group, number)
        for pid in self.pids:
            if pid in self.codes:
                continue
            # Not reaped yet, so the number is still its own.
            try:
                group = os.getpgid(pid)
            except OSError:
                continue
            if group == self.group:
                continue
            sent(os.kill, pid, number)
            if number == signal.SIGKILL and group != os.getpgrp():
                sent(os.killpg, group, number)

    def clean_up(self) -> None:
        """End what the tasks left behind: their group, then whatever was reparented to us, as a daemon would be."""
        self.signal_group(signal.SIGKILL)
        for _ in range(100):
            while True:
                try:
                    pid, _status = os.waitpid(-1, os.WNOHANG)
                except ChildProcessError:
                    return
                if pid == 0:
                    break
            for pid in own_children():
                sent(os.kill, pid, signal.SIGKILL)
            time.sleep(0.01)

    # --- the result

    def result(self) -> dict[str, object]:
        codes = [code if code >= 0 else 128 - code for code in self.codes.values()]
        worst = max(codes, default=0)
        killer = next((-code for code in self.codes.values() if code < 0 and 128 - code == worst), None)
        document: dict[str, object] = {
            "exit_code": worst,
            "signal": killer,
            "kind": "exit" if killer is None else "signal",
            "words": "",
        }
        if self.problem is not None:
            # Without a single process nothing of the job has run: that is the machine's fault, and can be told apart.
            kind = "spawn" if self.pids else "unbegun"
            document.update(kind=kind, exit_code=self.problem[0], signal=None, words=self.problem[1])
        elif self.ending is not None:
            document["kind"] = self.ending
        document.update(
            started_at=self.started,
            finished_at=time.time(),
            stdout_truncated=self.out.truncated,
            stderr_truncated=self.err.truncated,
        )
        return document


def own_children() -> list[int]:
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as file:
            return [int(pid) for pid in file.read().split()]
    except FileNotFoundError:  # a kernel without CONFIG_PROC_CHILDREN
        return []


def say_that_it_runs() -> None:
    """On our standard output, to the agent that started us. It may be gone by now; the claim says the same."""
    try:
        os.write(1, b"1")
    except BrokenPipeError:
        return
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)  # closes the pipe: it is not the tasks' to write to
    os.close(null)


def main(directory: str) -> int:
    # The agent started us with these blocked, so that an early SIGTERM waits until somebody listens.
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    if not claim(directory):
        return EXIT_CLAIMED
    with open(os.path.join(directory, "spec"), "rb") as file:
        spec = marshal.load(file)  # noqa: S302 - the agent wrote it, in a directory that is ours alone
    os.unlink(os.path.join(directory, "spec"))  # a user's environment is not kept longer than it is needed
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    wakeup, wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    for number in SIGNALS:
        signal.signal(number, lambda *_: None)
    job = Job(directory, spec)
    job.start()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    job.run(wakeup)
    partial = write_whole(directory, "result.partial", job.result(), durable=True)
    os.rename(partial, os.path.join(directory, "result"))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
