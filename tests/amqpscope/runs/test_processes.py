"""Processes forked from this one: what they send, when they begin, and how they end."""

import os
import threading

import pytest

from amqpscope.runs.processes import Died, Worker, can_fork, cores


@pytest.fixture
def start():
    """Fork a process that ends with the test."""
    workers = []

    def fork(work):
        workers.append(Worker(work))
        return workers[-1]

    yield fork
    for worker in workers:
        worker.stop()


def test_what_is_sent_arrives_in_order_however_large_it_is(start):
    def work(outbox):
        for message in (1, "x" * 3_000_000, None):
            outbox.send(message)

    worker = start(work)
    assert [worker.receive(), len(worker.receive()), worker.receive()] == [1, 3_000_000, None]


def test_one_that_fails_or_ends_too_early_is_noticed(start):
    def fail(outbox):
        outbox.send("begun")
        raise ValueError

    failed, ended = start(fail), start(lambda outbox: None)
    assert failed.receive() == "begun"
    for worker in (failed, ended):
        with pytest.raises(Died):
            worker.receive()


def test_one_that_waits_begins_when_it_is_wanted(start):
    def work(outbox):
        outbox.wait()
        outbox.send(os.getpid())

    worker = start(work)
    worker.start()
    assert worker.receive() == worker.pid


def test_nothing_is_forked_beside_threads():
    assert can_fork() == (threading.active_count() == 1)
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    try:
        assert not can_fork()
    finally:
        stop.set()
        thread.join()
    assert cores() >= 1
