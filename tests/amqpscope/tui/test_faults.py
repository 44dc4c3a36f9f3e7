"""What nobody thought of ends in one line."""

import pytest


def test_a_bug_is_told_in_one_line_with_its_place(drive, root):
    told = []

    async def script(driver):
        app = driver.app
        told.append(app)

        def broken():
            raise ZeroDivisionError("nobody thought of this")

        app.call_later(broken)
        await driver.until(lambda: app.fault, "it ends")

    with pytest.raises(ZeroDivisionError):
        drive(root / "captures/demo.pcapng", script)
    assert told[0].fault.startswith(
        "this is a bug of amqpscope: ZeroDivisionError: nobody thought of this (test_faults.py:"
    )
