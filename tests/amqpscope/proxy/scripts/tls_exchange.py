"""Send messages over TLS and take them back, on qpid-proton: tls_exchange.py HOST:PORT CA QUEUE N.

Prints a digest of what came back.
"""

import hashlib
import sys

from proton import Message, SSLDomain
from proton.utils import BlockingConnection

SIZES = (0, 1, 100, 5_000, 70_000)


def main(address, ca, queue, count):
    trust = SSLDomain(SSLDomain.MODE_CLIENT)
    trust.set_trusted_ca_db(ca)
    trust.set_peer_authentication(SSLDomain.VERIFY_PEER_NAME)
    connection = BlockingConnection(
        f"amqps://{address}", timeout=20, ssl_domain=trust, allowed_mechs="ANONYMOUS"
    )
    sender = connection.create_sender(queue, name="sender")
    receiver = connection.create_receiver(queue, name="receiver", credit=10)
    digest = hashlib.sha256()
    for number in range(count):
        body = bytes([number % 256]) * SIZES[number % len(SIZES)]
        sender.send(Message(id=number, body=body))
        message = receiver.receive(timeout=20)
        digest.update(repr((message.id, bytes(message.body))).encode())
        receiver.accept()
    connection.close()
    print(digest.hexdigest())


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
