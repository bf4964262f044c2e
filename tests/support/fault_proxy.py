"""A TCP proxy that does to a connection what bad networks do. One thread with an event loop of its own; the seed decides
when each fault comes. Loopback alone.

    with FaultProxy(target_port, fault, seed) as proxy:   # proxy.port is where to connect

Faults:
    none       passes all on
    slow       200,000 bytes a second in each direction
    jitter     each piece is late by up to 80 ms, in order, as after a retransmission
    stalls     nothing passes for up to 3 s, again and again, as while a link loses packets
    resets     the connection is reset (RST) after up to 60,000 bytes
    cuts       the connection is closed after up to 60,000 bytes, in the middle of a piece
    vanishes   after up to 60,000 bytes the peer is gone without a word: the connection stays open and nothing passes
    flips      one bit of a piece is wrong in each 200,000 bytes
"""
import asyncio
import random
import socket
import struct
import threading

PIECE = 4096
AT_MOST_BYTES = 60_000
FLIP_BYTES = 200_000
SLOW_BYTES_S = 200_000


class FaultProxy:
    def __init__(self, target_port, fault, seed):
        self.target_port, self.fault, self.random = target_port, fault, random.Random(seed)
        self.connections = self.faults = 0
        self.healed = False  # from then on all passes
        self._never = asyncio.Event()  # kept here: a task that waits for garbage is garbage itself
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self):
        self._thread.start()
        self._server = self._call(asyncio.start_server(self._serve, '127.0.0.1', 0))
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(self, *_):
        self._call(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    async def _end(self):
        self._server.close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _call(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    async def _serve(self, reader, writer):
        self.connections += 1
        try:
            to_reader, to_writer = await asyncio.open_connection('127.0.0.1', self.target_port)
        except OSError:
            writer.transport.abort()
            return
        budget = [self.random.randint(1, AT_MOST_BYTES)]  # both directions use it up
        ends = (writer, to_writer)
        try:
            await asyncio.gather(self._pass(reader, to_writer, ends, budget), self._pass(to_reader, writer, ends, budget),
                                 return_exceptions=True)
        except asyncio.CancelledError:
            pass  # the proxy ends
        finally:
            for end in ends:
                end.transport.abort()

    async def _pass(self, reader, writer, ends, budget):
        until_flip = self.random.randint(1, FLIP_BYTES)
        while True:
            piece = await reader.read(PIECE)
            if not piece:
                break
            fault = 'none' if self.healed else self.fault
            if fault in ('resets', 'cuts', 'vanishes'):
                budget[0] -= len(piece)
                if budget[0] <= 0:
                    self.faults += 1
                    return await self._break(fault, piece, writer, ends)
            elif fault == 'slow':
                await asyncio.sleep(len(piece) / SLOW_BYTES_S)
            elif fault == 'jitter':
                await asyncio.sleep(self.random.random() * 0.08)
            elif fault == 'stalls' and self.random.random() < 0.02:
                self.faults += 1
                await asyncio.sleep(self.random.random() * 3)
            elif fault == 'flips':
                until_flip -= len(piece)
                if until_flip < 0:
                    self.faults += 1
                    until_flip = self.random.randint(1, FLIP_BYTES)
                    at = self.random.randrange(len(piece))
                    piece = piece[:at] + bytes([piece[at] ^ 1 << self.random.randrange(8)]) + piece[at + 1:]
            writer.write(piece)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
        return None

    async def _break(self, fault, piece, writer, ends):
        if fault == 'vanishes':
            await self._never.wait()
        if fault == 'cuts':
            writer.write(piece[:len(piece) // 2])
            await writer.drain()
        for end in ends:
            if fault == 'resets':
                end.get_extra_info('socket').setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
                end.transport.abort()
            else:
                end.close()
