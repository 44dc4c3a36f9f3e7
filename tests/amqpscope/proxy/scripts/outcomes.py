"""Send messages, then take what is there, on qpid-proton: outcomes.py HOST:PORT QUEUE N [OCTETS].

The third message is so much longer than the others. Goes on after a detached link. Prints a JSON
object: the outcome of each message, and the bodies that were received, without their padding.
"""

import json
import sys

from proton import Delivery, Message
from proton.utils import BlockingConnection, LinkDetached

NAMES = {
    Delivery.ACCEPTED: "accepted",
    Delivery.REJECTED: "rejected",
    Delivery.RELEASED: "released",
    Delivery.MODIFIED: "modified",
}


def main(address, queue, count, padding=0):
    connection = BlockingConnection(address, timeout=10, allowed_mechs="ANONYMOUS")
    sender = connection.create_sender(queue)
    outcomes = []
    for number in range(count):
        try:
            body = f"m{number}" + "." * (padding if number == 2 else 0)
            sent = sender.send(Message(id=number, body=body), error_states=[])
            outcomes.append(NAMES[sent.remote_state])
        except LinkDetached as error:
            outcomes.append(error.condition)
            sender = connection.create_sender(queue)
    receiver = connection.create_receiver(queue, credit=10)
    bodies = []
    while True:
        try:
            bodies.append(receiver.receive(timeout=1).body.rstrip("."))
        except Exception as error:
            ended = type(error).__name__
            break
        receiver.accept()
    if ended == "Timeout":
        connection.close()
    print(json.dumps({"outcomes": outcomes, "bodies": bodies, "ended": ended}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
