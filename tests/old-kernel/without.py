#!/usr/bin/env python3
"""Runs a program as on an older kernel: system calls since Linux 4.18 are unknown (ENOSYS), to it and to its children.

without.py PROGRAM ARGUMENT…
"""
import ctypes
import os
import platform
import struct
import sys

# The last calls of Linux 4.18 are statx, io_pgetevents and rseq: 332 to 334 on x86-64, 291 to 293 on Arm. Since 5.1 new calls
# have the same numbers everywhere, from 424 (pidfd_send_signal) on.
FIRST = {"x86_64": 335, "aarch64": 294}
ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
# Beyond are calls of x32, which have nothing to do with the kernel's age.
LAST = 0x3FFFFFFF
LOAD, AT_LEAST, MORE, EQUAL, RETURN = 0x20, 0x35, 0x25, 0x15, 0x06
ALLOW, ENOSYS = 0x7FFF0000, 0x00050026
NO_NEW_PRIVS, SET_SECCOMP, FILTER = 38, 22, 2


def program(machine):
    """The filter as classic BPF: (code, if true, if false, operand)."""
    return [
        (LOAD, 0, 0, 4),
        (EQUAL, 1, 0, ARCHITECTURE[machine]),
        (RETURN, 0, 0, ALLOW),
        (LOAD, 0, 0, 0),
        (AT_LEAST, 0, 2, FIRST[machine]),
        (MORE, 1, 0, LAST),
        (RETURN, 0, 0, ENOSYS),
        (RETURN, 0, 0, ALLOW),
    ]


class Program(ctypes.Structure):
    """struct sock_fprog."""

    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def main():
    machine = platform.machine()
    if machine not in FIRST:
        print(f"NOT RUN: no list of system calls for {machine}", file=sys.stderr)
        return 77
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    code = program(machine)
    given = Program(len(code), b"".join(struct.pack("<HBBI", *one) for one in code))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(SET_SECCOMP, FILTER, ctypes.byref(given), 0, 0):
        print(f"NOT RUN: no filter of system calls here: {os.strerror(ctypes.get_errno())}", file=sys.stderr)
        return 77
    # Proof that the filter is there: pidfd_open of this process.
    libc.syscall(434, os.getpid(), 0)
    if ctypes.get_errno() != 38:
        print("the filter does not hold", file=sys.stderr)
        return 1
    os.execvp(sys.argv[1], sys.argv[1:])


sys.exit(main())
