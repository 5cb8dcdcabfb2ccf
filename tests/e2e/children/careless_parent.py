#!/usr/bin/env python3
"""Starts gpud as `nohup` and careless programs do: signals ignored and blocked, a strict umask, no standard input, a
descriptor left open, and a high OOM score."""

import os
import signal
import sys

signal.signal(signal.SIGHUP, signal.SIG_IGN)
signal.signal(signal.SIGQUIT, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2, signal.SIGALRM})
os.umask(0o077)
with open("/proc/self/oom_score_adj", "w") as score:
    score.write("500")
os.dup2(os.open("/etc/hostname", os.O_RDONLY), 77)
os.close(0)
program = os.environ["GPUD_UNDER_TEST"]
os.execv(program, [program, *sys.argv[1:]])
