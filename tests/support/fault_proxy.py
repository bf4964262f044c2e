#!/usr/bin/env python3
"""A TCP proxy that does to a connection what bad networks do. One thread with an event loop of its own. Loopback alone.

    with FaultProxy(target_port, fault, seed) as proxy:   # proxy.port is where to connect

or, until it is interrupted, with what it does on the standard output:

    fault_proxy.py --target PORT [--listen PORT] [--seed S] FAULT...

The seed and the number of the connection decide which of several faults it gets, and after how many bytes of which
direction each comes. Two runs with one seed therefore break each connection at the same bytes. Faults:
    none       passes all on
    slow       200,000 bytes a second in each direction
    jitter     each piece is late by up to 80 ms, in order, as after a retransmission
    stalls     nothing passes for up to 3 s, again and again, as while a link loses packets
    outages    nothing passes on any connection for up to 3 s, and no new one gets through, again and again
    resets     the connection is reset (RST) after up to 60,000 bytes from its client
    cuts       the connection is closed after as many
    vanishes   after as many the peer is gone without a word: the connection stays open and nothing passes
    flips      one bit is wrong in each 200,000 bytes of a direction
"""
import argparse
import asyncio
import random
import socket
import struct
import sys
import threading

FAULTS = ('none', 'slow', 'jitter', 'stalls', 'outages', 'resets', 'cuts', 'vanishes', 'flips')
ENDS = ('resets', 'cuts', 'vanishes')
PIECE = 4096
AT_MOST_BYTES = 60_000
FLIP_BYTES = 200_000
STALL_BYTES = 400_000
SLOW_BYTES_S = 200_000
STALL_S = 3


class Direction:
    """The bytes that one end of a connection sends."""

    def __init__(self, proxy, connection, name, fault):
        self.proxy, self.fault = proxy, fault
        self.name = f'connection {connection}, {name}'
        self.random = random.Random(f'{proxy.seed} {connection} {name}')
        self.passed = 0
        self.next = self.random.randint(1, self.gap())  # the byte before which the next fault comes

    def gap(self):
        return {'flips': FLIP_BYTES, 'stalls': STALL_BYTES}.get(self.fault, AT_MOST_BYTES)

    def note(self, what):
        self.proxy.note(f'{self.name}: {what} after {self.passed:,} bytes')

    def is_due(self, fault, piece):
        return self.fault == fault and not self.proxy.healed and self.passed + len(piece) >= self.next

    def flip(self, piece):
        while self.is_due('flips', piece):
            at, bit = self.next - self.passed - 1, self.random.randrange(8)
            if at >= 0:
                piece = piece[:at] + bytes([piece[at] ^ 1 << bit]) + piece[at + 1:]
                self.note(f'bit {bit} of byte {at} from here flips')
            self.next += self.random.randint(1, FLIP_BYTES)
        return piece

    async def wait(self, piece):
        """As long as the fault keeps this piece back."""
        if self.proxy.healed:
            return
        if self.fault == 'slow':
            await asyncio.sleep(len(piece) / SLOW_BYTES_S)
        elif self.fault == 'jitter':
            await asyncio.sleep(self.random.random() * 0.08)
        elif self.fault == 'outages':
            await self.proxy.passable.wait()
        elif self.is_due('stalls', piece):
            self.next += self.random.randint(1, STALL_BYTES)
            seconds = self.random.random() * STALL_S
            self.note(f'stalls {seconds:.2f} s')
            await asyncio.sleep(seconds)


class FaultProxy:
    def __init__(self, target_port, fault, seed, port=0, tell=None):
        """fault: a name of the above, or several of which each connection gets one. tell() is called with a line for
        each fault, in the proxy's thread."""
        self.target_port, self.seed, self.port = target_port, seed, port
        self.faults_given = (fault,) if isinstance(fault, str) else tuple(fault)
        self.connections = self.faults = 0
        self.healed = False  # from then on all passes
        self.log = []
        self._tell = tell
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self):
        self._thread.start()
        self._call(self._begin())
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(self, *_):
        self._call(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def note(self, line):
        self.faults += 1
        self.log.append(line)
        if self._tell:
            self._tell(line)

    async def _begin(self):
        self._never = asyncio.Event()  # kept here: a task that waits for garbage is garbage itself
        self.passable = asyncio.Event()
        self.passable.set()
        self._connected = asyncio.Event()
        self._server = await asyncio.start_server(self._serve, '127.0.0.1', self.port)
        if 'outages' in self.faults_given:
            self._outages = asyncio.create_task(self._have_outages())

    async def _end(self):
        self._server.close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _call(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    async def _have_outages(self):
        schedule = random.Random(f'{self.seed} outages')
        await self._connected.wait()  # so that a short job has an outage, too
        while not self.healed:
            seconds = schedule.random() * STALL_S
            self.note(f'all connections: an outage of {seconds:.2f} s')
            self.passable.clear()
            await asyncio.sleep(seconds)
            self.passable.set()
            await asyncio.sleep(schedule.random() * STALL_S)

    async def _serve(self, reader, writer):
        self.connections += 1
        self._connected.set()
        number = self.connections
        fault = random.Random(f'{self.seed} {number}').choice(self.faults_given)
        try:
            if fault == 'outages':
                await self.passable.wait()
            to_reader, to_writer = await asyncio.open_connection('127.0.0.1', self.target_port)
        except OSError:
            writer.transport.abort()
            return
        up, down = Direction(self, number, 'up', fault), Direction(self, number, 'down', fault)
        ends = (writer, to_writer)
        try:
            await asyncio.gather(self._pass(reader, to_writer, ends, up), self._pass(to_reader, writer, ends, down),
                                 return_exceptions=True)
        except asyncio.CancelledError:
            pass  # the proxy ends
        finally:
            for end in ends:
                end.transport.abort()

    async def _pass(self, reader, writer, ends, direction):
        breaks = direction.fault in ENDS and direction.name.endswith('up')
        while True:
            piece = await reader.read(PIECE)
            if not piece:
                break
            if breaks and direction.is_due(direction.fault, piece):
                return await self._break(direction, piece, writer, ends)
            await direction.wait(piece)
            writer.write(direction.flip(piece))
            await writer.drain()
            direction.passed += len(piece)
        if writer.can_write_eof():
            writer.write_eof()
        return None

    async def _break(self, direction, piece, writer, ends):
        """Passes on what comes before the break, unless a reset takes it along."""
        writer.write(piece[:direction.next - direction.passed])
        direction.passed = direction.next
        direction.note(direction.fault)
        if direction.fault == 'vanishes':
            for end in ends:
                end.transport.pause_reading()
            await self._never.wait()
        if direction.fault == 'cuts':
            await writer.drain()
        for end in ends:
            if direction.fault == 'resets':
                end.get_extra_info('socket').setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
                end.transport.abort()
            else:
                end.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--target', type=int, required=True)
    parser.add_argument('--listen', type=int, default=0)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('faults', nargs='+', choices=FAULTS)
    arguments = parser.parse_args()
    with FaultProxy(arguments.target, arguments.faults, arguments.seed, arguments.listen,
                    lambda line: print(line, flush=True)) as proxy:
        print(f'listening on 127.0.0.1:{proxy.port}', flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            return 0


if __name__ == '__main__':
    sys.exit(main())
