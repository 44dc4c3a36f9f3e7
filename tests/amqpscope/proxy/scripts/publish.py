"""Publish to a queue and consume from it, on pika: publish.py HOST PORT QUEUE N [CA].

With a certificate authority to trust, over TLS. Prints a digest of what came back.
"""

import hashlib
import ssl
import sys

import pika

SIZES = (0, 1, 100, 5_000, 300_000)


def main(host, port, queue, count, ca=None):
    given = pika.ConnectionParameters(host, port)
    if ca is not None:
        given.ssl_options = pika.SSLOptions(ssl.create_default_context(cafile=ca), host)
    connection = pika.BlockingConnection(given)
    channel = connection.channel()
    channel.queue_declare(queue, auto_delete=True)
    digest = hashlib.sha256()
    for number in range(count):
        body = bytes([number % 256]) * SIZES[number % len(SIZES)]
        channel.basic_publish("", queue, body)
    for method, _, body in channel.consume(queue, auto_ack=True):
        digest.update(body)
        if method.delivery_tag == count:
            break
    channel.cancel()
    connection.close()
    print(digest.hexdigest())


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4]), *sys.argv[5:])
