"""Send messages to a queue and take them back, on qpid-proton: exchange.py HOST:PORT QUEUE N.

Prints a digest of what came back.
"""

import hashlib
import sys

from proton import Message
from proton.utils import BlockingConnection

SIZES = (0, 1, 100, 5_000, 70_000)


def main(address, queue, count):
    connection = BlockingConnection(address, timeout=20, allowed_mechs="ANONYMOUS PLAIN",
                                    user="guest", password="guest")  # fmt: skip
    sender = connection.create_sender(queue)
    receiver = connection.create_receiver(queue, credit=10)
    digest = hashlib.sha256()
    for number in range(count):
        body = bytes([number % 256]) * SIZES[number % len(SIZES)]
        sender.send(Message(id=number, body=body, properties={"number": number}))
        message = receiver.receive(timeout=20)
        digest.update(repr((message.id, bytes(message.body), message.properties)).encode())
        receiver.accept()
    connection.close()
    print(digest.hexdigest())


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
