#!/usr/bin/env python3
"""Opens every page of the reference in a browser: what does not load, links and anchors that lead nowhere, errors of scripts, and whatever
is wider than the page, on a large screen and on a small one.

usage: browser_test.py SITE [--pages PATTERN]    the site that scripts/docs has written; exit code 77 where there is no browser
       browser_test.py --self-test               shows that each fault is found

The browser is Chromium, Chrome, Edge or Firefox, without a window; BROWSER names another program of these. It gets the site from this
process, which it tells what it has found.
"""

import argparse
import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "microsoft-edge", "firefox", "firefox-esr")
WIDTHS = (1280, 400)

# What is wrong in a page is told to the driver, which has it in a frame.
WATCH = """<script>addEventListener("error", event => parent.report && parent.report(location.pathname,
    event.message || "cannot load " + (event.target.src || event.target.href)), true)</script>"""

DRIVER = """<!DOCTYPE html><html><head><meta charset="utf-8"><title>pages</title></head><body><script>
const pages = PAGES, widths = WIDTHS, faults = new Set(), anchors = new Map();
function report(page, text) { faults.add(page.replace(/^\\//, "") + ": " + text); }

// The anchors of a page as it is written; null if it is not there.
function anchorsOf(url) {
    if (!anchors.has(url)) anchors.set(url, (async () => {
        const answer = await fetch(url);
        if (!answer.ok) return null;
        if (!/html/.test(answer.headers.get("content-type"))) return new Set();
        const text = new DOMParser().parseFromString(await answer.text(), "text/html");
        return new Set([...text.querySelectorAll("[id],[name]")].flatMap(one => [one.id, one.getAttribute("name")]));
    })());
    return anchors.get(url);
}
async function follow(page, shown) {
    for (const link of shown.querySelectorAll("a[href]")) {
        const url = new URL(link.href);
        if (url.origin !== location.origin) continue;
        const found = await anchorsOf(url.origin + url.pathname), anchor = decodeURIComponent(url.hash.slice(1));
        const text = url.pathname.slice(1) + url.hash;
        if (found === null) report(page, "the link to " + text + " leads nowhere");
        else if (anchor && !found.has(anchor) && !(url.pathname === "/" + page && shown.getElementById(anchor))) report(page, "there is no " + text);
    }
}
function scrolls(element) {
    for (let one = element.parentElement; one && one.tagName !== "BODY"; one = one.parentElement)
        if (getComputedStyle(one).overflowX !== "visible") return true;
    return false;
}
function measure(page, shown, width) {
    const root = shown.documentElement;
    if (root.scrollWidth <= root.clientWidth + 1) return;
    const wide = [...shown.body.querySelectorAll("*")].filter(one => one.getBoundingClientRect().right > root.clientWidth + 1 && !scrolls(one));
    const last = wide[wide.length - 1];
    report(page, "wider than the page of " + width + ": " + (last ? "<" + last.tagName.toLowerCase() + "> " + last.textContent.trim().slice(0, 60) : root.scrollWidth));
}
async function look(page, width) {
    const frame = document.createElement("iframe");
    frame.style = "border: 0; height: 800px; width: " + width + "px";
    const loaded = new Promise(done => { frame.onload = () => done(true); setTimeout(() => done(false), 30000); });
    frame.src = "/" + page;
    document.body.append(frame);
    if (!await loaded) report(page, "does not load");
    else {
        const shown = frame.contentDocument;
        measure(page, shown, width);
        if (width === widths[0]) {
            if (!shown.body.innerText.trim()) report(page, "shows nothing");
            await follow(page, shown);
        }
    }
    frame.remove();
}
async function all() {
    for (const page of pages)
        for (const width of widths) {
            await look(page, width).catch(error => report(page, String(error)));
            await fetch("/looked", {method: "POST", body: page});
        }
    await fetch("/done", {method: "POST", body: JSON.stringify([...faults])});
}
all();
</script></body></html>
"""


class Site(SimpleHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/driver.html":
            return self.send(self.server.driver)
        path = Path(self.translate_path(self.path.split("?")[0]))
        if path.suffix == ".html" and path.is_file():
            return self.send(re.sub(r"(<head[^>]*>)", lambda head: head[1] + WATCH, path.read_text(errors="replace"), count=1, flags=re.IGNORECASE))
        if self.path == "/favicon.ico":
            return self.send("", "image/x-icon")
        return super().do_GET()

    def send(self, text, kind="text/html; charset=utf-8"):
        data = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if self.path == "/done":
            self.server.faults = json.loads(body)
            self.server.finished.set()
        else:
            self.server.looked += 1
        self.server.heard.set()
        self.send("")

    def log_message(self, *_):
        pass


def browser():
    """The command of a browser without a window, but for the page; null if there is none."""
    found = next((path for name in ([os.environ["BROWSER"]] if os.environ.get("BROWSER") else NAMES) if (path := shutil.which(name))), None)
    if found is None:
        return None
    if "firefox" in Path(found).name:
        return lambda profile: [found, "--headless", "--no-remote", "--profile", profile]
    # Its sandbox does not start for root; all that it opens is the site.
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    return lambda profile: [found, "--headless=new", *sandbox, "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
                            "--disable-component-update", "--disable-sync", f"--user-data-dir={profile}"]  # fmt: skip


def faults_of(command, directory, pages):
    server = ThreadingHTTPServer(("127.0.0.1", 0), lambda *arguments: Site(*arguments, directory=str(directory)))
    server.faults, server.finished, server.heard, server.looked = None, threading.Event(), threading.Event(), 0
    server.driver = DRIVER.replace("PAGES", json.dumps(pages)).replace("WIDTHS", json.dumps(WIDTHS))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile, open(Path(profile) / "log", "w+") as log:
        program = subprocess.Popen([*command(profile), f"http://127.0.0.1:{server.server_address[1]}/driver.html"], stdout=log, stderr=log)
        try:
            # As long as it goes on: each page is told.
            while not server.finished.wait(0.2):
                if program.poll() is not None or not server.heard.wait(90):
                    log.seek(0)
                    return [f"the browser ended, or hangs, after {server.looked} pages:\n{log.read()[-2000:]}"], server.looked
                server.heard.clear()
        finally:
            program.terminate()
            try:
                program.wait(20)
            except subprocess.TimeoutExpired:
                program.kill()
            server.shutdown()
            server.server_close()
    return server.faults, server.looked


def self_test(command):
    head = '<!DOCTYPE html><html><head><meta charset="utf-8"><title>a page</title>'
    wide = '<table style="width: 3000px"><tr><td>wide</td></tr></table>'
    files = {
        "good.html": f'{head}</head><body><p id="here"><a href="#here">here</a> <a href="other.html#there">there</a></p>'
                     f'<div style="overflow-x: auto">{wide}</div></body></html>',
        "other.html": f'{head}<script>document.addEventListener("DOMContentLoaded", () => document.body.append("more"))</script></head>'
                      '<body><a name="there">there</a></body></html>',
        "bad.html": f'{head}<link rel="stylesheet" href="gone.css"><script>nothing.at.all()</script></head><body>{wide}'
                    '<a href="gone.html">gone</a> <a href="good.html#gone">gone</a> <a href="#gone">gone</a></body></html>',
        "empty.html": f"{head}</head><body></body></html>",
        "narrow.html": f'{head}</head><body><div style="width: 700px">text</div></body></html>',
    }  # fmt: skip
    expected = [
        "bad.html: cannot load .*gone.css", "bad.html: .*nothing is not defined", "bad.html: wider than the page of 1280: <t", "bad.html: the link to gone.html leads nowhere",
        "bad.html: there is no good.html#gone", "bad.html: there is no bad.html#gone", "bad.html: wider than the page of 400", "empty.html: shows nothing",
        "narrow.html: wider than the page of 400: <div> text",
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as name:
        for file, text in files.items():
            (Path(name) / file).write_text(text)
        found, _ = faults_of(command, name, sorted(files))
    wrong = [f"not found: {one}" for one in expected if not any(re.match(one, fault) for fault in found)]
    return wrong + [f"found: {fault}" for fault in found if not any(re.match(one, fault) for one in expected)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("site", nargs="?", type=Path)
    parser.add_argument("--pages", default="*")
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    command = browser()
    if command is None:
        print(f"no browser: none of {', '.join(NAMES)} is installed")
        return 77
    if options.self_test:
        wrong = self_test(command)
    else:
        if options.site is None or not (options.site / "index.html").is_file():
            print(f"{options.site} has no index.html: scripts/docs writes the site")
            return 77
        pages = sorted(str(path.relative_to(options.site)) for path in options.site.rglob("*.html"))
        pages = [page for page in pages if fnmatch.fnmatch(page, options.pages)]
        wrong, looked = faults_of(command, options.site, pages)
        print(f"{len(pages)} pages, looked at {looked} times: {len(wrong)} faults")
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return 1 if wrong else 0


sys.exit(main())
