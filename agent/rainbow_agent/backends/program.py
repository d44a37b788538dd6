"""Runs the tasks of one program, one after the other: `python -I -S program.py FILE`. Standard library only.

It is the one process that the runner starts for such a job, so the runner's time limit, cancel and output are this
one's and its children's too. FILE says what to run, in an order in which each task comes after those it waits for.
"""

# Like the runner it is one file that imports nothing of ours: see there.
# ruff: noqa: PTH108, PTH118, PTH123

import ctypes
import marshal
import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PR_SET_PDEATHSIG = 1
EXIT_NOT_FOUND = 127
EXIT_NOT_STARTED = 126
STOPPED = 128 + signal.SIGTERM
TOP = ""

libc = ctypes.CDLL(None)


def say(words: str) -> None:
    """To the job's standard error. Who reads it may be gone, which is no reason to stop."""
    try:
        os.write(2, f"rainbow: {words}\n".encode("utf-8", "replace"))
    except OSError:
        return


class Driver:
    def __init__(self, plan: "dict[str, Any]") -> None:
        self.env = plan["env"]
        self.lists = plan["lists"]
        self.living: set[int] = set()
        self.stopping = False
        self.code = 0  # of the first failure

    # --- the program

    def run_list(self, name: str) -> bool:
        """Whether all of it went well. What waits for a task that did not is left out, and the rest goes on."""
        well: list[bool] = []
        for step in self.lists[name]:
            if self.stopping:
                return False
            failed = [self.lists[name][at]["label"] for at in step["after"] if not well[at]]
            if failed:
                say(f"{step['label']}: not run, because of {', '.join(failed)}")
                well.append(False)
            else:
                well.append(self.run_step(step))
        return all(well)

    def run_step(self, step: "dict[str, Any]") -> bool:
        well = True
        for replica in range(step["replicas"]):
            if self.stopping:
                return False
            if step["group"] is not None:
                well = self.run_list(step["group"]) and well
            else:
                well = self.run_task(step, replica) and well
        return well

    def run_task(self, step: "dict[str, Any]", replica: int) -> bool:
        env = dict(self.env)
        for name, value in step["env"].items():
            if value is None:
                env.pop(name, None)
            else:
                env[name] = value
        env["RAINBOW_NTASKS"] = str(len(step["places"]))
        env["RAINBOW_REPLICA"] = str(replica)
        if step["name"]:
            env["RAINBOW_TASK_NAME"] = step["name"]
        pids = []
        problem = None
        for rank, (node, gpus) in enumerate(step["places"]):
            env["RAINBOW_TASK_ID"] = str(rank)
            env["RAINBOW_NODE"] = node
            if gpus:
                env["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, gpus))
            pid, problem = self.start(step, env)
            if pid is not None:
                pids.append(pid)
            if problem is not None or pid is None:
                break
        if problem is not None:
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
        codes = [self.wait(pid) for pid in pids]
        if self.stopping:
            return False
        which = step["label"] + (f" (replica {replica + 1} of {step['replicas']})" if step["replicas"] > 1 else "")
        if problem is not None:
            code, words = problem
        else:
            code = max((code if code >= 0 else 128 - code for code in codes), default=0)
            words = f"exit code {code}"
            killer = next((-one for one in codes if one < 0 and 128 - one == code), None)
            if killer is not None:
                words = f"killed by signal {killer}"
        if code:
            say(f"{which}: {words}")
            self.code = self.code or code
        return code == 0

    # --- processes

    def start(self, step: "dict[str, Any]", env: "dict[str, str]") -> "tuple[int | None, tuple[int, str] | None]":
        """The new process, and why it is none of the task's. Neither if we were told to stop before it began.

        SIGTERM reaches our whole group. Held back here, it cannot fall between the decision to start one more
        process and that process being there for it to reach.
        """
        failed, tell = os.pipe2(os.O_CLOEXEC)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        try:
            pid = self.fork(step, env, tell)
        except OSError as cause:
            os.close(failed)
            return None, (EXIT_NOT_STARTED, f"cannot start a process: {cause.strerror}")
        finally:
            os.close(tell)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        told = os.read(failed, 4096)
        os.close(failed)
        if not told:
            return pid, None
        code, _, words = told.decode(errors="replace").partition(" ")
        return pid, (int(code), words)

    def fork(self, step: "dict[str, Any]", env: "dict[str, str]", tell: int) -> "int | None":
        if self.stopping or signal.SIGTERM in signal.sigpending():
            return None
        driver = os.getpid()
        pid = os.fork()
        if pid == 0:
            become(step, env, tell, driver)
        self.living.add(pid)
        if signal.SIGTERM in signal.sigpending():  # it may have come before the fork
            os.kill(pid, signal.SIGTERM)
        return pid

    def wait(self, pid: int) -> int:
        _, status = os.waitpid(pid, 0)
        self.living.discard(pid)
        return os.waitstatus_to_exitcode(status)

    def stop(self, *_: object) -> None:
        """On SIGTERM, which our group got too: pass it on to those who left the group, and start nothing more."""
        self.stopping = True
        for pid in self.living:
            try:
                if os.getpgid(pid) != os.getpgrp():
                    os.kill(pid, signal.SIGTERM)
            except ProcessLookupError:
                continue


def become(step: "dict[str, Any]", env: "dict[str, str]", tell: int, driver: int) -> None:
    """The child's side of the fork: never returns."""
    command = step["command"]
    code = EXIT_NOT_STARTED
    words = "cannot prepare the task"
    try:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != driver:  # it died before the line above could help
            os._exit(code)
        for number in (signal.SIGTERM, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        if step["cwd"] is not None:
            words = f"cannot enter the working directory {step['cwd']}"
            os.chdir(step["cwd"])
        env["PWD"] = os.path.join(os.environ["PWD"], step["cwd"] or "").rstrip("/") or "/"
        words = f"cannot run {command[0]}"
        os.execvpe(command[0], command, env)  # noqa: S606 - running it is the point
    except Exception as cause:  # whatever it is, it is told: there is nobody above us to raise to
        if isinstance(cause, FileNotFoundError) and words.startswith("cannot run"):
            code, words = EXIT_NOT_FOUND, f"command not found: {command[0]}"
        else:
            words += f": {getattr(cause, 'strerror', None) or cause}"
        os.write(tell, f"{code} {words}".encode("utf-8", "replace")[:4096])
    finally:
        os._exit(code)


def main(path: str) -> int:
    with open(path, "rb") as file:
        plan = marshal.load(file)  # noqa: S302 - the agent wrote it, in a directory that is ours alone
    os.unlink(path)  # a user's environment is not kept longer than it is needed
    driver = Driver(plan)
    signal.signal(signal.SIGTERM, driver.stop)
    driver.run_list(TOP)
    return STOPPED if driver.stopping else driver.code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
