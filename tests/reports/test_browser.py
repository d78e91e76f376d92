"""The pages in a real browser: filters, their state in the URL, folding, width, the policy."""

import functools
import http.server
import json
import re
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pages import Page

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed"),
]
# A page of ours that opens one of the report's in a frame, acts on it, and writes what it saw.
DRIVER = """<!doctype html><title>driver</title><iframe id="f"></iframe><pre id="saw"></pre>
<script>
const frame = document.getElementById("f");
frame.width = WIDTH;
frame.height = 800;
frame.onload = async () => {
  frame.onload = null;
  const w = frame.contentWindow, d = w.document;
  const rest = () => new Promise((done) => setTimeout(done, 60));
  const set = async (name, value) => {
    const field = d.querySelector(`#filters [name=${name}]`);
    field.value = value;
    field.dispatchEvent(new w.Event("input", {bubbles: true}));
    await rest();
  };
  const seen = (selector) => [...d.querySelectorAll(selector)].filter((e) => e.offsetParent);
  const state = () => ({
    hash: w.location.hash,
    rows: seen("tr[data-case]").map((e) => e.cells[0].textContent),
    tiles: seen("a[data-for]").length,
    kernels: seen("tr.kernel").map((e) => e.cells[0].textContent.trim()),
    families: seen("tr.family").length,
    said: d.querySelector("#filters output")?.textContent,
  });
  const saw = await (async () => { BODY })().catch((error) => ({error: String(error)}));
  document.getElementById("saw").textContent = JSON.stringify(saw);
};
frame.src = PATH;
</script>
"""
Drive = Callable[..., dict]


def chromium(address: str, *options: str) -> subprocess.CompletedProcess[str]:
    assert CHROMIUM is not None
    command = [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu"]
    command += ["--enable-logging=stderr", "--virtual-time-budget=8000", *options, "--dump-dom"]
    return subprocess.run(
        [*command, address], capture_output=True, text=True, timeout=120, check=True
    )


@pytest.fixture(scope="module")
def served(report: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The report and our driver pages under one address, which frames need."""
    root = tmp_path_factory.mktemp("served")
    shutil.copytree(report, root / "report")
    handler = functools.partial(QuietHandler, directory=str(root))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", root
        server.shutdown()
        thread.join()


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def drive(served: tuple[str, Path]) -> Drive:
    """Run JavaScript against a page of the report; returns what it returns."""
    address, root = served

    def run(path: str, body: str, width: int = 1280) -> dict:
        text = DRIVER.replace("BODY", body).replace("PATH", json.dumps(f"report/{path}"))
        (root / "driver.html").write_text(text.replace("WIDTH", str(width)))
        page = Page(chromium(f"{address}/driver.html").stdout)
        saw = json.loads(page.all("pre", id="saw")[0].text)
        assert "error" not in saw, saw
        return saw

    return run


def test_from_disk_the_policy_blocks_nothing_of_ours(report: Path):
    done = chromium((report / "index.html").as_uri())
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert console == []
    assert Page(done.stdout).all("form", id="filters")[0].attributes.get("hidden") is None


def test_the_policy_stops_a_script_that_got_in(report: Path, tmp_path: Path):
    text = (report / "index.html").read_text()
    (tmp_path / "page.html").write_text(
        text.replace("<main", "<script>document.title = 'owned'</script><main", 1)
    )
    done = chromium((tmp_path / "page.html").as_uri())
    assert Page(done.stdout).all("title")[0].text != "owned"
    assert re.search(r"CONSOLE.*Content Security Policy", done.stderr)


def test_filters_show_what_fits_and_write_the_url(drive, run):
    saw = drive("index.html", 'await set("target", "hip:gfx950"); return state();')
    fitting = [r.case.id for r in run.results if str(r.case.target) == "hip:gfx950"]
    assert 0 < len(fitting) < len(run.results)
    assert sorted(saw["rows"]) == sorted(fitting)
    assert saw["hash"] == "#target=hip%3Agfx950"
    assert saw["tiles"] == len(fitting)
    assert saw["said"] == f"{len(fitting)} of {len(run.results)} cases"


def test_filters_add_up_and_clear(drive, run):
    body = """
      await set("target", "cuda:90");
      await set("text", "GEMM");
      const both = state();
      d.querySelector("#filters [type=reset]").click();
      await rest();
      return {both, clear: state()};
    """
    saw = drive("index.html", body)
    assert saw["both"]["rows"] == ["dots/pipelined_gemm/fp16-64x64x32-w4-b2@cuda:90"]
    assert saw["both"]["kernels"] == ["pipelined_gemm"]
    assert saw["both"]["families"] == 1
    assert saw["both"]["hash"] == "#target=cuda%3A90&text=GEMM"
    assert len(saw["clear"]["rows"]) == len(run.results)
    assert saw["clear"]["hash"] == ""


def test_a_url_with_state_opens_filtered(drive, run):
    passing = [r.case.id for r in run.results if r.status().value == "pass"]
    assert passing
    saw = drive("index.html#status=pass", "await rest(); return state();")
    assert sorted(saw["rows"]) == sorted(passing)


def test_a_url_with_another_fragment_filters_nothing(drive, run):
    saw = drive("index.html#cases", "await rest(); return state();")
    assert len(saw["rows"]) == len(run.results)


def test_a_link_to_a_folded_case_opens_it(drive, run, result_of):
    case = next(r.case for r in run.results if r.status().value == "pass")
    slug = case.id.replace("/", ".").replace("@cuda:", "-cuda-")
    page = f"kernel/{case.kernel.replace('/', '.')}.html"
    body = f"""
      await rest();
      const e = d.getElementById("{slug}");
      return {{open: e.open, top: e.getBoundingClientRect().top}};
    """
    closed, opened = drive(page, body), drive(f"{page}#{slug}", body)
    assert closed["open"] is False
    assert opened["open"] is True
    assert opened["top"] < closed["top"]


def test_a_click_in_the_chart_leads_to_the_pass(drive):
    body = """
      const link = d.querySelector("svg a[tabindex][href*='-p']");
      link.dispatchEvent(new w.MouseEvent("click", {bubbles: true, view: w}));
      await rest();
      const id = link.getAttribute("href").slice(1);
      const row = d.getElementById(id);
      return {hash: w.location.hash.slice(1), id, seen: row.offsetParent !== null,
              top: row.getBoundingClientRect().top};
    """
    saw = drive("kernel/dots.pipelined_gemm.html", body)
    assert saw["hash"] == saw["id"]
    assert saw["seen"]
    assert 0 <= saw["top"] < 800


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize(
    "path",
    ["index.html", "kernel/dots.pipelined_gemm.html", "kernel/clusters.cluster_shift.html"],
)
def test_no_page_scrolls_sideways(drive, path, width):
    body = """
      for (const e of d.querySelectorAll("details")) e.open = true;
      await rest();
      return {wide: d.scrollingElement.scrollWidth, seen: w.innerWidth};
    """
    saw = drive(path, body, width)
    assert saw["wide"] <= saw["seen"]


def test_panes_stand_side_by_side_on_a_desk_and_stacked_on_a_phone(drive):
    body = """
      const panes = d.querySelector("article .panes:not(.empty-0, .empty-1)").children;
      for (let e = panes[0]; e; e = e.parentElement) if (e.tagName === "DETAILS") e.open = true;
      const [a, b] = [...panes].map((e) => e.getBoundingClientRect());
      return {beside: a.right <= b.left, below: a.bottom <= b.top, level: a.top === b.top};
    """
    desk = drive("kernel/dots.pipelined_gemm.html", body, 1280)
    phone = drive("kernel/dots.pipelined_gemm.html", body, 390)
    assert (desk["beside"], desk["level"]) == (True, True)
    assert phone["below"]


def test_everything_of_importance_is_on_the_first_screen(drive):
    body = """
      const bottom = (selector) => d.querySelector(selector).getBoundingClientRect().bottom;
      return {sentence: bottom("h1"), compared: bottom("table.compared"),
              figures: bottom(".figures"), first: bottom("#h-new + .scroll tbody tr")};
    """
    saw = drive("index.html", body)
    assert max(saw.values()) < 800


def test_the_keyboard_reaches_the_filters_and_the_cases(drive):
    body = """
      const reach = (e) => e.tabIndex >= 0;
      const first = seen("a[href], button, select, input, summary, [tabindex]").filter(reach)[0];
      return {first: first.textContent, tiles: seen("a[data-for]").every(reach),
              fields: seen("#filters select, #filters input").every(reach)};
    """
    saw = drive("index.html", body)
    assert saw == {"first": "Skip to the results", "tiles": True, "fields": True}
