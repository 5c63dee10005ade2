"""An adbd on loopback, for tests: what an Android device answers to adb's client.

    python adbd.py FOLDER PORT [FEATURES]     prints its port, if PORT is 0 a free one

FOLDER is all that its shells find in their PATH.

Messages and their order: packages/modules/adb/protocol.txt of Android; packets of a shell:
shell_protocol.h and SHELL_SERVICE.TXT there. No authentication, and no service but `shell,v2`.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import socket
import struct
import subprocess
import sys
import threading
from typing import IO

VERSION, MAX_PAYLOAD = 0x01000001, 256 * 1024
MESSAGE = struct.Struct("<4sIIIII")  # command, two arguments, length, checksum, magic
PACKET = struct.Struct("<BI")
STDIN, STDOUT, STDERR, EXIT, CLOSE_STDIN = range(5)


class Stream:
    """One service that the other side opened: a shell."""

    def __init__(self, link: Link, number: int, peer: int, service: str) -> None:
        self._link, self._number, self._peer = link, number, peer
        self.input: queue.Queue[bytes] = queue.Queue()  # b"": the other side has closed
        self.may_write = threading.Semaphore(0)
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            [f"{link.folder}/sh", "-c", service.partition(":")[2]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd="/",
            env={"PATH": link.folder, "HOME": "/"},
            start_new_session=True,
        )
        link.send(b"OKAY", number, peer)
        self.may_write.release()
        threading.Thread(target=self._feed, daemon=True).start()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        assert self._process.stdout
        assert self._process.stderr
        pipes = ((STDOUT, self._process.stdout), (STDERR, self._process.stderr))
        readers = [threading.Thread(target=self._copy, args=pair, daemon=True) for pair in pipes]
        for thread in readers:
            thread.start()
        for thread in readers:
            thread.join()
        code = self._process.wait()
        self._write(EXIT, bytes([code if code >= 0 else 128 - code]))
        self._link.send(b"CLSE", self._number, self._peer)

    def _copy(self, kind: int, pipe: IO[bytes]) -> None:
        while data := os.read(pipe.fileno(), 32 * 1024):
            self._write(kind, data)

    def _write(self, kind: int, data: bytes) -> None:
        with self._lock:  # one message at a time is on its way
            self.may_write.acquire()
            packet = PACKET.pack(kind, len(data)) + data
            self._link.send(b"WRTE", self._number, self._peer, packet)

    def _feed(self) -> None:
        assert self._process.stdin
        pending = b""
        while data := self.input.get():
            pending += data
            while len(pending) >= PACKET.size:
                kind, length = PACKET.unpack_from(pending)
                if len(pending) < PACKET.size + length:
                    break
                body = pending[PACKET.size : PACKET.size + length]
                pending = pending[PACKET.size + length :]
                with contextlib.suppress(OSError, ValueError):
                    if kind == STDIN:
                        self._process.stdin.write(body)
                        self._process.stdin.flush()
                    elif kind == CLOSE_STDIN:
                        self._process.stdin.close()
            self._link.send(b"OKAY", self._number, self._peer)
        self.may_write.release(1000)  # unblocks pending writes
        with contextlib.suppress(OSError, ValueError):
            self._process.stdin.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGHUP)


class Link:
    """One connection of an adb server."""

    def __init__(self, connection: socket.socket, folder: str, features: str) -> None:
        self.folder = folder
        self._socket, self._features = connection, features
        self._lock = threading.Lock()
        self._streams: dict[int, Stream] = {}

    def send(self, command: bytes, first: int, second: int, data: bytes = b"") -> None:
        magic = int.from_bytes(command, "little") ^ 0xFFFFFFFF
        head = MESSAGE.pack(command, first, second, len(data), sum(data) & 0xFFFFFFFF, magic)
        with self._lock, contextlib.suppress(OSError):
            self._socket.sendall(head + data)

    def serve(self) -> None:
        while head := self._read(MESSAGE.size):
            command, first, second, length, _, _ = MESSAGE.unpack(head)
            data = self._read(length)
            if command == b"CNXN":
                banner = f"device::ro.product.name=test;features={self._features}"
                self.send(b"CNXN", VERSION, MAX_PAYLOAD, banner.encode())
            elif command == b"OPEN":
                number, service = len(self._streams) + 1, data.rstrip(b"\0").decode()
                if service.startswith("shell,v2"):
                    self._streams[number] = Stream(self, number, first, service)
                else:
                    self.send(b"CLSE", 0, first)
            elif stream := self._streams.get(second):
                if command == b"OKAY":
                    stream.may_write.release()
                elif command in (b"WRTE", b"CLSE"):
                    stream.input.put(data if command == b"WRTE" else b"")
        for stream in self._streams.values():
            stream.input.put(b"")

    def _read(self, size: int) -> bytes:
        data = b""
        with contextlib.suppress(OSError):
            while len(data) < size and (piece := self._socket.recv(size - len(data))):
                data += piece
        return data if len(data) == size else b""


def main(folder: str, port: str, features: str = "shell_v2,cmd") -> None:
    with socket.create_server(("127.0.0.1", int(port))) as server:
        print(server.getsockname()[1], flush=True)
        while True:
            link = Link(server.accept()[0], folder, features)
            threading.Thread(target=link.serve, daemon=True).start()


if __name__ == "__main__":
    main(*sys.argv[1:])
