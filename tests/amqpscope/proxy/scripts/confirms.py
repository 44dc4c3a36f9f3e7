"""Publish with confirms, then take what is there, on pika: confirms.py HOST PORT QUEUE N.

The third is in several frames. Prints a JSON object: what became of each message, the bodies that
were received, without their padding, and how many messages are left in the queue.
"""

import json
import sys

import pika
from pika.exceptions import ChannelClosed, NackError, UnroutableError

PADDING = 300_000


def main(host, port, queue, count):
    connection = pika.BlockingConnection(pika.ConnectionParameters(host, port))
    channel = begin(connection, queue)
    outcomes = []
    for number in range(count):
        try:
            body = b"m%d" % number + b"." * (PADDING if number == 2 else 0)
            channel.basic_publish("", queue, body, mandatory=True)
            outcomes.append("confirmed")
        except NackError:
            outcomes.append("nacked")
        except UnroutableError:
            outcomes.append("returned")
        except ChannelClosed as error:
            outcomes.append(error.reply_code)
            channel = begin(connection, queue)
    bodies = []
    for method, _, body in channel.consume(queue, inactivity_timeout=1):
        if method is None:
            break
        bodies.append(body.decode().rstrip("."))
        channel.basic_ack(method.delivery_tag)
    connection.process_data_events()
    other = connection.channel()
    left = other.queue_declare(queue).method.message_count
    other.queue_delete(queue)
    connection.close()
    print(json.dumps({"outcomes": outcomes, "bodies": bodies, "left": left}))


def begin(connection, queue):
    channel = connection.channel()
    channel.confirm_delivery()
    channel.queue_declare(queue)
    return channel


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
