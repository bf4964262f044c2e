#!/usr/bin/env python3
"""terminal.py COLUMNS LINES COMMAND...: runs a command on a pseudo terminal, which it is itself, and follows the steps on
standard input, one a line:

    keys TEXT         types it; \\r, \\x1b and so on as in Python
    await PATTERN     waits until a line of the screen matches the regular expression
    absent PATTERN    waits until no line does
    resize COLUMNS LINES
    signal NAME       sends it to the command
    do COMMAND        lets a shell run it
    screen FILE       writes the screen
    end               waits for the command's end

At the end it prints "status N", and "restored" if the terminal is as it was: its modes, its main screen and its cursor.
Exit status: 0; 1: something that was awaited did not come within two minutes, and the screen is printed."""
import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

PATIENCE_SECONDS = 120
SEQUENCE = re.compile(r'\x1b(?:\[([?>]?)([\d;]*)([@-~])|[()][0-9A-B]|[=>78McDE])')


class Screen:
    """What a terminal of the kind xterm shows, as far as ncurses uses it."""

    def __init__(self, columns, lines):
        self.alternate, self.cursor, self.colours = False, True, 0
        self.decoder, self.left = codecs.getincrementaldecoder('utf-8')(), ''
        self.resize(columns, lines)

    def resize(self, columns, lines):
        self.columns, self.lines = columns, lines
        self.cells = [[' '] * columns for _ in range(lines)]
        self.x = self.y = 0
        self.top, self.bottom = 0, lines

    def text(self):
        return [''.join(row).rstrip() for row in self.cells]

    def feed(self, data):
        text = self.left + self.decoder.decode(data)
        at = 0
        while at < len(text):
            if text[at] != '\x1b':
                self.put(text[at])
                at += 1
                continue
            match = SEQUENCE.match(text, at)
            if not match and len(text) - at < 32:
                break
            if match and match[3]:
                self.control(match[1], [int(number or 0) for number in match[2].split(';')], match[3])
            elif match and match[0] == '\x1bM':
                if self.y == self.top:
                    self.shift(self.top, 1)
                self.y -= self.y not in (0, self.top)
            at = match.end() if match else at + 1
        self.left = text[at:]

    def put(self, character):
        self.last = character
        if character == '\r':
            self.x = 0
        elif character == '\n':
            if self.y == self.bottom - 1:
                self.shift(self.top, -1)
            self.y += self.y not in (self.lines - 1, self.bottom - 1)
        elif character == '\b':
            self.x = max(self.x - 1, 0)
        elif character >= ' ':
            if self.x == self.columns:
                self.x, self.y = 0, min(self.y + 1, self.lines - 1)
            self.cells[self.y][self.x] = character
            self.x += 1

    def fill(self, first, end):
        self.cells[self.y][first:end] = [' '] * (min(end, self.columns) - first)

    def shift(self, at, count):
        """Moves the lines of the region from `at` on down, or up."""
        part = self.cells[at:self.bottom]
        blank = [[' '] * self.columns for _ in range(min(abs(count), len(part)))]
        self.cells[at:self.bottom] = (blank + part)[:len(part)] if count > 0 else (part + blank)[-len(part):]

    def control(self, mark, numbers, final):
        count = max(numbers[0], 1)
        if mark == '?':
            self.alternate = final == 'h' if 1049 in numbers else self.alternate
            self.cursor = final == 'h' if 25 in numbers else self.cursor
            return
        if final in 'Hf':
            self.y, self.x = count - 1, max(numbers[1] if len(numbers) > 1 else 1, 1) - 1
        elif final == 'd':
            self.y = count - 1
        elif final == 'G':
            self.x = count - 1
        elif final in 'ABCD':
            self.y += {'A': -count, 'B': count}.get(final, 0)
            self.x += {'C': count, 'D': -count}.get(final, 0)
        elif final == 'K':
            self.fill(0 if numbers[0] else self.x, self.x + 1 if numbers[0] == 1 else self.columns)
        elif final == 'J':
            self.fill(0 if numbers[0] == 2 else self.x, self.columns)
            for y in range(0 if numbers[0] == 2 else self.y + 1, self.lines):
                self.cells[y] = [' '] * self.columns
        elif final == 'X':
            self.fill(self.x, self.x + count)
        elif final == 'b':
            for _ in range(count):
                self.put(self.last)
        elif final == 'P':
            row = self.cells[self.y]
            row[self.x:] = row[self.x + count:] + [' '] * min(count, self.columns - self.x)
        elif final == '@':
            row = self.cells[self.y]
            row[self.x:] = ([' '] * count + row[self.x:])[:self.columns - self.x]
        elif final in 'LM':
            self.shift(self.y, count if final == 'L' else -count)
        elif final in 'ST':
            self.shift(self.top, -count if final == 'S' else count)
        elif final == 'r':
            self.top, self.bottom = count - 1, numbers[1] if len(numbers) > 1 and numbers[1] else self.lines
            self.x = self.y = 0
        elif final == 'm':
            self.colours += any(30 <= number <= 37 or 40 <= number <= 47 for number in numbers)
        self.x, self.y = min(max(self.x, 0), self.columns), min(max(self.y, 0), self.lines - 1)


class Terminal:
    def __init__(self, columns, lines, command):
        self.master, self.slave = pty.openpty()
        self.screen = Screen(columns, lines)
        self.set_size(columns, lines)
        self.modes = termios.tcgetattr(self.slave)
        self.process = subprocess.Popen(command, stdin=self.slave, stdout=self.slave, stderr=self.slave,
                                        start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))

    def set_size(self, columns, lines):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack('HHHH', lines, columns, 0, 0))

    def read(self, seconds):
        if select.select([self.master], [], [], seconds)[0]:
            self.screen.feed(os.read(self.master, 65536))
            return True
        return False

    def wait(self, what, is_there):
        until = time.monotonic() + PATIENCE_SECONDS
        while not is_there():
            if time.monotonic() > until:
                print(f'{what}: not within {PATIENCE_SECONDS} s', *self.screen.text(), sep='\n')
                self.process.kill()
                sys.exit(1)
            self.read(0.05)

    def has(self, pattern):
        return any(re.search(pattern, line) for line in self.screen.text())

    def step(self, name, rest):
        if name == 'keys':
            os.write(self.master, codecs.decode(rest, 'unicode_escape').encode('latin-1'))
        elif name == 'await':
            self.wait(f'await {rest}', lambda: self.has(rest))
        elif name == 'absent':
            self.wait(f'absent {rest}', lambda: not self.has(rest))
        elif name == 'resize':
            size = [int(number) for number in rest.split()]
            self.screen.resize(*size)
            self.set_size(*size)
            os.kill(self.process.pid, signal.SIGWINCH)
        elif name == 'signal':
            os.kill(self.process.pid, getattr(signal, 'SIG' + rest))
        elif name == 'do':
            subprocess.run(rest, shell=True, check=True)
        elif name == 'screen':
            while self.read(0.3):  # until it is drawn
                pass
            with open(rest, 'w', encoding='utf-8') as file:
                file.write('\n'.join(self.screen.text()) + '\n')
        elif name == 'end':
            self.wait('end', lambda: self.process.poll() is not None)
        else:
            raise ValueError(name)

    def finish(self):
        self.step('end', '')
        while self.read(0):
            pass
        restored = self.modes == termios.tcgetattr(self.slave) and not self.screen.alternate and self.screen.cursor
        print(f'status {self.process.returncode}')
        print('restored' if restored else 'not restored')
        print('colours' if self.screen.colours else 'no colours')


def main():
    terminal = Terminal(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
    for line in sys.stdin:
        name, _, rest = line.strip('\n').strip().partition(' ')
        if name:
            terminal.step(name, rest)
    terminal.finish()


if __name__ == '__main__':
    main()
