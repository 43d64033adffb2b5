"""Checks of docs/monitoring that promtool does not make. See tests/monitoring/run."""

import json
import re
import sys
import time
import urllib.request
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
ALERTS = (DOCS / "monitoring/alerts.yaml").read_text()
DASHBOARD = json.loads((DOCS / "monitoring/dashboard.json").read_text())
OPERATIONS = (DOCS / "operations.md").read_text()

# A family appears in /metrics with its first sample. Nothing in a healthy demo causes the first two; rows are pruned after
# a minute.
AFTER_EVENTS = {"bidloop_worker_panics_total", "bidloop_unreadable_rows", "bidloop_pruned_rows_total"}
# What Prometheus adds, and numbers.
NOT_CHECKED = {"job", "instance", "le", "status", "alertname", "alertstate"}


def panels():
    return [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]


def dashboard_expressions():
    of_panels = [target["expr"] for panel in panels() for target in panel["targets"]]
    return of_panels + [annotation["expr"] for annotation in DASHBOARD["annotations"]["list"]]


def alert_expressions():
    """The expressions of alerts.yaml: on the line of their key, or indented below it."""
    one_line = re.findall(r"^ +expr: ([^|\n].*)$", ALERTS, re.MULTILINE)
    blocks = re.findall(r"^ +expr: \|\n((?: {10,}.*\n)+)", ALERTS, re.MULTILINE)
    found = one_line + blocks
    assert len(found) == ALERTS.count("- alert: "), "an expression of alerts.yaml was not found"
    return found


def expressions():
    """A rules file with the dashboard's expressions, for promtool. JSON is YAML."""
    rules = []
    for number, expression in enumerate(dashboard_expressions()):
        expression = expression.replace("$__rate_interval", "5m")
        expression = re.sub(r"\$(job|instance)\b", ".*", expression)
        assert "$" not in expression, f"an unknown variable: {expression}"
        rules.append({"record": f"dashboard:expression_{number}", "expr": expression})
    print(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}, indent=1))


def pages():
    """Each alert has a test that it fires and a section; each panel can be read."""
    alerts = re.findall(r"^ +- alert: (\w+)$", ALERTS, re.MULTILINE)
    assert alerts and len(alerts) == len(set(alerts)), "alerts are missing or named twice"

    tests = (DOCS / "monitoring/alerts_test.yaml").read_text()
    fired = set(re.findall(r"\{labels: '\{alertname=\"(\w+)\"", tests))
    assert fired == set(alerts), f"alerts without a test, or tests without an alert: {sorted(fired ^ set(alerts))}"

    sections = re.findall(r"^### (Bidloop\w+)$", (DOCS / "monitoring.md").read_text(), re.MULTILINE)
    others = sorted(set(sections) ^ set(alerts))
    assert sections == alerts, f"docs/monitoring.md has other sections: {others}, or another order"
    links = re.findall(r"runbook_url: docs/monitoring\.md#(\w+)", ALERTS)
    assert links == [alert.lower() for alert in alerts], "a runbook_url leads elsewhere"

    identifiers = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(identifiers) == len(set(identifiers)), "panels share an id"
    taken = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        columns = range(place["x"], place["x"] + place["w"])
        cells = {(x, y) for x in columns for y in range(place["y"], place["y"] + place["h"])}
        assert place["x"] + place["w"] <= 24 and not cells & taken, f"panels overlap at {panel['title']}"
        taken |= cells
    for panel in panels():
        title = panel["title"]
        assert panel["description"] and panel["fieldConfig"]["defaults"]["unit"], f"{title} lacks a description or a unit"
        for part in [panel, *panel["targets"]]:
            assert part["datasource"]["uid"] == "${datasource}", f"{title} has a data source of its own"
        has_legends = all(target["legendFormat"] for target in panel["targets"])
        assert panel["type"] == "stat" or has_legends, f"{title} lacks a legend"
    print(f"{len(alerts)} alerts with tests and sections, {len(panels())} panels")


def used():
    """The metrics that alerts and dashboard name, and the label values that they compare with."""
    names, values = set(), set()
    for expression in alert_expressions() + dashboard_expressions():
        bare = re.sub(r'"[^"]*"', '""', expression)
        names |= set(re.findall(r"\b(?:bidloop|process)_\w+", bare))
        for label, operator, text in re.findall(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"', expression):
            if label not in NOT_CHECKED:
                values |= {(label, value) for value in (text.split("|") if "~" in operator else [text])}
    return names, values


def metrics(url):
    """Each metric that is used is exported, and each that is exported is described. Waits for those that need events."""
    names, values = used()
    end = time.monotonic() + 90
    while True:
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                text = answer.read().decode()
        except OSError:
            text = ""
        exported = set(re.findall(r"^(\w+)(?:\{| )", text, re.MULTILINE))
        missing = names - AFTER_EVENTS - exported
        if text and not missing:
            break
        if time.monotonic() > end:
            sys.exit(f"not in {url}: {sorted(missing)}")
        time.sleep(0.5)

    section = OPERATIONS.split("\n## Metrics\n")[1].split("\n## ")[0]
    described = set(re.findall(r"`(bidloop_\w+)", section))
    families = {re.sub(r"_(bucket|sum|count)$", "", name) for name in exported if name.startswith("bidloop_")}
    undescribed = (families | AFTER_EVENTS) - described
    assert not undescribed, f"docs/operations.md does not describe {sorted(undescribed)}"

    words = set(re.findall(r"`(\w+)`", section))
    unknown = {(label, value) for label, value in values if value not in words and f'{label}="{value}"' not in text}
    assert not unknown, f"label values that neither docs/operations.md nor /metrics has: {sorted(unknown)}"
    print(f"{len(names)} metrics and {len(values)} label values are those of the program and of docs/operations.md")


if __name__ == "__main__":
    {"expressions": expressions, "pages": pages, "metrics": metrics}[sys.argv[1]](*sys.argv[2:])
