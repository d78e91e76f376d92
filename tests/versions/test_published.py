"""Published versions: what an index offers for this machine, and what to ask of it."""

from __future__ import annotations

import http.server
import json
import sys
import threading
from collections.abc import Iterator

import pytest

from harness.errors import HarnessError
from harness.toolchains import declared
from harness.toolchains.published import override, published, subject

HERE = f"cp{sys.version_info.major}{sys.version_info.minor}"
FILES = [
    ("thing-1.10.0-py3-none-any.whl", False),
    (f"thing-1.9.0-{HERE}-{HERE}-manylinux_2_17_x86_64.whl", False),
    ("thing-1.8.0-py3-none-win_amd64.whl", False),  # another machine
    ("thing-1.7.0-py3-none-any.whl", "broken"),  # yanked, with a reason
    ("thing-2.0.0rc1-py3-none-any.whl", False),
    ("thing-1.6.0.tar.gz", False),
]


@pytest.fixture
def index(monkeypatch) -> Iterator[str]:
    """An index of one distribution, as PEP 691 has it."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = json.dumps(
                {"files": [{"filename": name, "yanked": yanked} for name, yanked in FILES]}
            )
            known = self.path == "/thing/"
            self.send_response(200 if known else 404)
            self.end_headers()
            self.wfile.write(body.encode() if known else b"")

        def log_message(self, *_: object):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        address = f"http://127.0.0.1:{server.server_port}"
        monkeypatch.setenv("UV_DEFAULT_INDEX", address)
        yield address
        server.shutdown()


@pytest.mark.usefixtures("index")
def test_only_what_installs_here_in_the_order_of_versions():
    assert published("thing") == ["1.9.0", "1.10.0"]
    assert published("thing", before_release=True) == ["1.9.0", "1.10.0", "2.0.0rc1"]


@pytest.mark.usefixtures("index")
def test_an_index_that_does_not_know_it_is_one_clear_error():
    with pytest.raises(HarnessError, match="does not say which versions there are") as caught:
        published("other")
    assert "/other/" in caught.value.thing


def test_a_plugin_comes_with_the_triton_that_it_is_named_after():
    role = declared().role("plugin")
    assert subject(role) == "triton-utlx"
    assert override(role, "3.8.0.post4") == "triton==3.8.0,triton-utlx==3.8.0.post4"
    assert override(role, "3.8.0.post4:3.9.0") == "triton==3.9.0,triton-utlx==3.8.0.post4"
    assert override(declared().role("fork"), "3.7.1") == "fbtriton==3.7.1"
