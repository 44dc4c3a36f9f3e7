"""The HTML report in a real browser: it runs, asks for nothing, and can be used by keys alone."""

import base64

import pytest

from amqpscope.cli.html import Report
from amqpscope.runs.input import Input
from amqpscope.runs.lint import CheckSettings, check

NASTY = """
client: attach name="<script>document.title=1</script><img src=x onerror='document.title=2'>"
        handle=0 role=sender source=source() initial-delivery-count=0
        target=target(address="</pre></svg><script>document.title=3</script>")
@2.0s client: transfer handle=0 delivery-id=1 delivery-tag=b"1" message-format=0
        | data(b"<iframe src=https://example.com></iframe>")
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pages")


@pytest.fixture
def open_page(browser, folder):
    """Write the report of a capture and open it."""

    def run(path, fragment="", **how):
        # Each page at an address of its own: one that differs by its fragment is not loaded anew.
        target = folder / f"{len(list(folder.iterdir()))}.html"
        with target.open("w", encoding="utf-8") as out:
            checked = check(str(path), CheckSettings(excerpts=False))
            Report(**how).write(out, [(Input(str(path)), checked)])
        browser.open(target.as_uri() + fragment)
        return target.as_uri()

    return run


@pytest.fixture
def demo(root):
    return root / "captures" / "demo.pcapng"


def test_it_asks_for_nothing_and_breaks_nothing(browser, open_page, demo):
    uri = open_page(demo, frames=True)
    assert browser.requests() == [uri]
    assert browser.complaints() == []


def test_nothing_that_was_captured_runs(browser, open_page, opened):
    uri = open_page(opened(NASTY, name="nasty.pcapng"), frames=True)
    assert browser.ask("document.title") == "nasty.pcapng - amqpscope"
    assert browser.ask("document.querySelectorAll('img, iframe, script').length") == 1
    assert browser.requests() == [uri]


def test_a_script_that_is_not_ours_would_be_blocked(browser, open_page, demo):
    open_page(demo)
    browser.ask(
        "document.body.append(Object.assign(document.createElement('script'), "
        "{textContent: 'document.title = 4'}))"
    )
    assert browser.ask("document.title") == "demo.pcapng - amqpscope"


def test_keys_go_from_finding_to_finding(browser, open_page, demo):
    open_page(demo)
    said = "document.activeElement.textContent"
    seen = []
    for _ in range(9):
        browser.press("n")
        seen.append(browser.ask(said))
    assert len(set(seen)) == 9
    assert seen[0].startswith("frame 24 message from sender")
    browser.press("p")
    assert browser.ask(said) == seen[-2]


def test_the_filter_takes_words_and_severities(browser, open_page, demo):
    shown = "[...document.querySelectorAll('article.group')].filter(x => !x.hidden).length"
    open_page(demo)
    assert browser.ask(shown) == 10
    browser.press("/")
    for letter in "content-encoding":
        browser.press(letter)
    assert browser.ask(shown) == 1
    assert browser.ask("document.querySelector('.count').textContent") == "1 of 10 groups"
    browser.ask("document.querySelector('input[type=search]').value = ''")
    browser.ask("document.querySelector('input[value=info]').click()")
    assert browser.ask(shown) == 5


def test_a_link_into_what_is_folded_opens_it(browser, open_page, demo):
    open_page(demo, "#c1-l14")
    assert browser.ask("document.querySelector('#c1-l14').closest('details').open") is True
    browser.ask("document.querySelector('#c1-connection-1').open = false")
    browser.ask("location.hash = '#c1-l16'")
    browser.ask("dispatchEvent(new HashChangeEvent('hashchange'))")
    assert browser.ask("document.querySelector('#c1-connection-1').open") is True


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_follows_the_scheme_with_enough_contrast(browser, open_page, demo, scheme):
    browser.send(
        "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}]
    )
    open_page(demo)
    for selector in ("body", ".peer", ".ladder .label", ".ladder .note .said", ".plot text"):
        paint = "fill" if "ladder" in selector or "plot" in selector else "color"
        ink = colour(browser.ask(f"getComputedStyle(document.querySelector('{selector}')).{paint}"))
        paper = colour(browser.ask("getComputedStyle(document.body).backgroundColor"))
        assert contrast(ink, paper) >= 4.5, selector
    browser.send("Emulation.setEmulatedMedia", features=[])


def colour(text):
    return [int(part) for part in text.removeprefix("rgb(").removesuffix(")").split(",")]


def contrast(one, other):
    """The ratio of luminances, as the guidelines for accessible pages define it."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(parts):
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4
              for p in (part / 255 for part in parts)]  # fmt: skip
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("width", [400, 1200])
def test_nothing_sticks_out_to_the_side(browser, open_page, demo, width):
    browser.send("Emulation.setDeviceMetricsOverride", width=width, height=800,
                 deviceScaleFactor=1, mobile=False)  # fmt: skip
    open_page(demo, frames=True)
    assert browser.ask("document.documentElement.scrollWidth") <= width
    browser.send("Emulation.clearDeviceMetricsOverride")


def test_it_prints(browser, open_page, demo):
    open_page(demo)
    pdf = base64.b64decode(browser.send("Page.printToPDF")["data"])
    assert pdf.startswith(b"%PDF")
