"""The screen Findings: by rule and peer, with evidence and the rule's explanation."""

CAPTURE = "demo.pcapng"


def opened(root, drive, script, capture=CAPTURE, **options):
    async def run(driver):
        await driver.press("4")
        await driver.until(lambda: driver.app.view.id == "findings", "the screen is there")
        return await script(driver)

    return drive(root / "captures" / capture, run, **options)


def test_findings_are_grouped_by_rule_and_peer_the_gravest_first(root, drive):
    async def script(driver):
        await driver.until_shown("MSG-001")
        return [(kind.severity, kind.rule, kind.peer) for kind in driver.app.view.findings.kinds]

    kinds = opened(root, drive, script)
    assert kinds[0] == ("error", "MSG-001", "client")
    severities = [kind[0] for kind in kinds]
    assert severities == sorted(severities, key=("error", "warning", "info").index)
    assert len(set(kinds)) == len(kinds)


def test_enter_jumps_to_the_frame_of_a_finding(root, drive):
    async def script(driver):
        await driver.until_shown("MSG-001")
        await driver.press("enter")
        return driver.app.entry.name, driver.app.frame

    assert opened(root, drive, script) == ("frames", 24)


def test_the_rule_is_explained_beside_its_findings(root, drive):
    async def script(driver):
        await driver.until_shown("Sections come in one order")
        return driver.text()

    text = opened(root, drive, script, size=(160, 50))
    assert "frame 24, packet 30, connection 1" in text
    assert "section 3.2" in text


def test_evidence_frames_are_listed_and_enter_goes_there(root, drive):
    async def script(driver):
        await driver.until_shown("MSG-001")
        await driver.press("tab")
        text = driver.app.view.text
        await driver.until(lambda: text.has_focus, "the text has the keys")
        text.go(next(at for at, line in enumerate(text.lines) if line.frame))
        await driver.press("enter")
        return driver.app.entry.name, driver.app.frame

    assert opened(root, drive, script) == ("frames", 24)


def test_a_kind_can_be_closed(root, drive):
    async def script(driver):
        await driver.until_shown("MSG-001")
        count = driver.app.view.findings.count
        await driver.press("g", "space")
        return count, driver.app.view.findings.count

    before, after = opened(root, drive, script)
    assert after == before - 1


def test_a_clean_capture_says_so(root, drive):
    async def script(driver):
        await driver.until_shown("nothing found")
        return driver.text()

    assert "nothing found in 32 frames" in opened(
        root, drive, script, "v10_proton-labbroker_drain.pcap"
    )
