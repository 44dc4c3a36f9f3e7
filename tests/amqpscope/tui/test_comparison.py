"""Two frames, or two connections, are marked with `=` and compared."""


def test_frames_and_connections_are_compared(drive, root):
    async def use(user):
        app = user.app
        app.visit(5)
        await user.press("equals_sign")
        assert "frame 5 is A" in user.text()
        app.visit(22)
        await user.press("equals_sign")
        await user.until_shown("A: frame 5")
        await user.until_shown("B: frame 22")
        # The connections of these two frames, and from there to a frame.
        await user.press("equals_sign")
        await user.until_shown("attach.role: true -> false")
        assert user.text().count("A 9 client attach") == 1
        await user.press("escape")
        # Connections, in their list.
        await user.press("C")
        await user.press("equals_sign", "down", "equals_sign")
        await user.until_shown("B: connection 2")
        await user.press("escape", "escape")
        # The same frame twice is no comparison.
        await user.press("equals_sign", "equals_sign")
        assert "no longer to be compared" in user.text()

    drive(root / "captures/v10_proton-labbroker_linkerror.pcap", use)
