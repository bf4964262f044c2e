#!/usr/bin/env python3
"""Passes what agents send on to an aggregator, and a copy of it to another one: so both get the same frames. The second
one's answers go nowhere. Connections without keys, on loopback alone.

    frame_tee.py --target PORT --copy PORT [--listen PORT]

It prints where it listens. At SIGTERM it ends when all connections are over.
"""
import argparse
import asyncio
import signal

PIECE = 65536


async def pass_on(reader, writers):
    """What the reader brings goes to all writers; its end, too."""
    try:
        while piece := await reader.read(PIECE):
            for writer in writers:
                writer.write(piece)
            for writer in writers:
                await writer.drain()
    except ConnectionError:
        pass
    for writer in writers:
        try:
            writer.write_eof()
        except OSError:
            pass


async def serve(agent, target_port, copy_port):
    reader, writer = agent
    target = await asyncio.open_connection('127.0.0.1', target_port)
    copy = await asyncio.open_connection('127.0.0.1', copy_port)
    await asyncio.gather(pass_on(reader, [target[1], copy[1]]), pass_on(target[0], [writer]), pass_on(copy[0], []))
    for end in (writer, target[1], copy[1]):
        end.close()


async def run(options):
    open_ones = set()
    ended = asyncio.Event()

    def accept(reader, writer):
        task = asyncio.ensure_future(serve((reader, writer), options.target, options.copy))
        open_ones.add(task)
        task.add_done_callback(open_ones.discard)

    server = await asyncio.start_server(accept, '127.0.0.1', options.listen)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    print(f'listening on tcp://127.0.0.1:{server.sockets[0].getsockname()[1]}', flush=True)
    await ended.wait()
    server.close()
    if open_ones:
        await asyncio.wait(open_ones)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ('target', 'copy', 'listen'):
        parser.add_argument('--' + name, type=int, required=name != 'listen', default=0)
    asyncio.run(run(parser.parse_args()))


if __name__ == '__main__':
    main()
