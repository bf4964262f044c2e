"""system_call_filter.py UNIT COMMAND...: runs the command under the unit's SystemCallFilter=, as systemd would, but that a call
which is not in it ends the process by SIGSYS, whatever the unit says: it must not be made."""

import ctypes
import os
import re
import struct
import subprocess
import sys

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
SECCOMP_RET_ALLOW, SECCOMP_RET_KILL_PROCESS = 0x7FFF0000, 0x80000000
BPF_LD_W_ABS, BPF_JEQ, BPF_RET = 0x20, 0x15, 0x06


def members(name):
    """The calls of a set, or the one call."""
    if not name.startswith("@"):
        return {name}
    text = subprocess.run(["systemd-analyze", "syscall-filter", name], check=True, capture_output=True, text=True).stdout
    lines = (line.split("#")[0].strip() for line in text.splitlines()[1:])
    return set().union(*(members(line) for line in lines if line))


def allowed(unit):
    """Each line adds to the ones before, or takes from them (systemd.exec(5))."""
    calls = members("@default")
    with open(unit, encoding="utf-8") as file:
        lines = [line.strip() for line in file]
    filters = [line.split("=", 1)[1] for line in lines if line.startswith("SystemCallFilter=")]
    if not filters:
        sys.exit(f"{unit}: no SystemCallFilter=")
    for words in filters:
        named = set().union(*(members(word) for word in words.lstrip("~").split()))
        calls = calls - named if words.startswith("~") else calls | named
    return calls


def numbers():
    """The calls of this machine, by what the compiler says."""
    text = subprocess.run(["cc", "-E", "-dM", "-include", "sys/syscall.h", "-x", "c", "/dev/null"], check=True, capture_output=True,
                          text=True).stdout
    values = dict(re.findall(r"#define (__NR\w*) (\S+)", text))
    found = {}
    for name, value in values.items():
        while value in values:
            value = values[value]
        if name.startswith("__NR_") and value.isdigit():
            found[name[len("__NR_"):]] = int(value)
    return found


def install(wanted):
    program = struct.pack("HBBI", BPF_LD_W_ABS, 0, 0, 0)
    for number in sorted(wanted):
        program += struct.pack("HBBI", BPF_JEQ, 0, 1, number) + struct.pack("HBBI", BPF_RET, 0, 0, SECCOMP_RET_ALLOW)
    program += struct.pack("HBBI", BPF_RET, 0, 0, SECCOMP_RET_KILL_PROCESS)
    code = ctypes.create_string_buffer(program, len(program))
    head = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, head, 0, 0):
        sys.exit(f"no filter: {os.strerror(ctypes.get_errno())}")


def main():
    names = allowed(sys.argv[1])
    install({number for name, number in numbers().items() if name in names})
    os.execv(sys.argv[2], sys.argv[2:])


main()
