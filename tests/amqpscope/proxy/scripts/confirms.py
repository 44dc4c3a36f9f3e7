"""Publish with confirms, then take what is there, on pika: confirms.py HOST PORT QUEUE N.

Prints a JSON object: what became of each message, the bodies that were received, and how many
messages are left in the queue.
"""

import json
import sys

import pika
from pika.exceptions import ChannelClosed, NackError, UnroutableError


def main(host, port, queue, count):
    connection = pika.BlockingConnection(pika.ConnectionParameters(host, port))
    channel = begin(connection, queue)
    outcomes = []
    for number in range(count):
        try:
            channel.basic_publish("", queue, b"m%d" % number, mandatory=True)
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
        bodies.append(body.decode())
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
