"""WCAG's contrasts of all that is on the pages, as a browser shows them, in both themes."""

from __future__ import annotations

from pathlib import Path

import chromium
import pytest
from html_pages import page
from support import ROOT

pytestmark = pytest.mark.skipif(chromium.executable() is None, reason="there is no Chromium here")

TEXT = "Hello hello, pay $12345 for \u00c4pfel <|endoftext|>\n"
PAGES = {
    "encode": ("encode", "--special", "text", "--ids", "-t", TEXT),
    "compare": ("encode", "--special", "text", "--compare", "o200k_base,gpt2", "-t", TEXT),
    "split": ("split", "--special", "allow", "-t", TEXT),
    "inspect-ranks": ("inspect-ranks", "-q", "-e", ROOT / "tests/data/formats/bpe.model"),
    "count": ("count", "--tree", ROOT / "tests" / "render"),
}
# What has too little contrast, as [ratio, its text or tag]: texts below 4.5 (1.4.3), edges of controls below 3 (1.4.11).
# Disabled controls need none.
POOR = """(() => {
  const rgb = (text) => (text.match(/[\\d.]+/g) ?? [0, 0, 0, 0]).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const over = (top, below) => { const a = top[3] ?? 1; return [0, 1, 2].map((i) => top[i] * a + below[i] * (1 - a)); };
  const behind = (e) => {
    const layers = [];
    for (; e; e = e.parentElement) layers.push(rgb(getComputedStyle(e).backgroundColor));
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255]);
  };
  const contrast = (a, b) => { const [x, y] = [light(a), light(b)].sort((m, n) => m - n); return (y + 0.05) / (x + 0.05); };
  const seen = (e) => e.checkVisibility() && !e.closest("[disabled], .unseen, .skip, option, script, noscript, style");
  const poor = [];
  for (const e of document.querySelectorAll("body *")) {
    if (!seen(e)) continue;
    const style = getComputedStyle(e);
    const [back, opacity] = [behind(e), Number(style.opacity)];
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) continue;
    const ratio = contrast(over([...rgb(style.color).slice(0, 3), opacity], back), back);
    if (ratio < 4.5) poor.push([ratio, e.textContent.slice(0, 40)]);
  }
  for (const e of document.querySelectorAll("input, select, textarea, .tools button, .legend button")) {
    if (!seen(e)) continue;
    const ratio = contrast(rgb(getComputedStyle(e).borderTopColor), behind(e.parentElement));
    if (ratio < 3) poor.push([ratio, e.outerHTML.slice(0, 60)]);
  }
  return poor;
})()"""


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_all_that_is_on_a_page_has_contrast(tab: chromium.Tab, folder: Path, name: str, theme: str) -> None:
    tab.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])
    tab.open(page(folder, *PAGES[name]))
    if name == "split":
        tab.click("#alternative-3 button")  # so that other pieces are faded
    tab.type("#query", "hello")
    tab.press("Enter")
    assert tab.value(POOR) == []
