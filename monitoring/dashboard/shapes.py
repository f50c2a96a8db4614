"""The shapes of panels: what Grafana needs beside titles and queries."""

SOURCE = {"type": "prometheus", "uid": "${datasource}"}
WIDTH = 24

GREEN, YELLOW, RED, BLUE, GREY = "green", "yellow", "red", "blue", "text"


def stat(title, expr, good=None, bad=None, unit="short", width=4, about=""):
    """One number. Red from `bad` on; or red below `good`."""
    if bad is not None:
        steps = [(None, GREEN), (bad, RED)]
    elif good is not None:
        steps = [(None, RED), (good, GREEN)]
    else:
        steps = [(None, BLUE)]
    options = {"colorMode": "background", "graphMode": "none", "textMode": "value",
               "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False}}
    return _panel("stat", title, [(expr, "", True)], (width, 4), about, unit, options, steps=steps)


def gauge(title, expr, about="", width=6):
    """A share in percent; red below 100."""
    options = {"reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
               "showThresholdMarkers": True}
    return _panel("gauge", title, [(expr, "", True)], (width, 8), about, "percent", options,
                  steps=[(None, RED), (90, YELLOW), (100, GREEN)], least=0, most=100)


def graph(title, queries, unit="short", about="", width=12, bars=False):
    """Lines over time, or bars for counts of events. Each query: expression and legend."""
    custom = {"drawStyle": "bars" if bars else "line", "fillOpacity": 60 if bars else 10,
              "lineWidth": 1, "showPoints": "never", "spanNulls": not bars,
              "stacking": {"mode": "normal" if bars else "none", "group": "A"}}
    options = {"legend": {"displayMode": "table", "placement": "right", "calcs": ["lastNotNull", "max"],
                          "showLegend": True},
               "tooltip": {"mode": "multi", "sort": "desc"}}
    queries = [(expr, legend, False) for expr, legend in queries]
    return _panel("timeseries", title, queries, (width, 8), about, unit, options, custom=custom, least=0)


def timeline(title, queries, states=None, about="", width=24, height=8):
    """A row for each series, coloured by state: a number to a word and a colour."""
    states = states or {1: ("yes", GREEN), 0: ("no", GREY)}
    options = {"mergeValues": True, "showValue": "auto", "rowHeight": 0.9, "alignValue": "left",
               "legend": {"displayMode": "list", "placement": "bottom", "showLegend": False},
               "tooltip": {"mode": "single", "sort": "none"}}
    custom = {"fillOpacity": 70, "lineWidth": 0}
    queries = [(expr, legend, False) for expr, legend in queries]
    return _panel("state-timeline", title, queries, (width, height), about, "short", options,
                  custom=custom, mappings=_mappings(states), steps=[(None, GREY)])


def table(title, queries, columns, states=None, about="", width=12, height=8):
    """The newest values as rows. `columns`: labels in their order, and `#A` and so on for the values of the
    queries, each with its heading. `states` maps the values of named headings to words and colours."""
    names = {_field(key, queries): heading for key, heading in columns.items()}
    order = {field: index for index, field in enumerate(names)}
    transformations = [
        {"id": "merge", "options": {}},
        {"id": "filterFieldsByName", "options": {"include": {"names": list(names)}}},
        {"id": "organize", "options": {"indexByName": order, "renameByName": names, "excludeByName": {}}},
    ]
    overrides = [{"matcher": {"id": "byName", "options": heading},
                  "properties": [{"id": "mappings", "value": _mappings(words)},
                                 {"id": "custom.cellOptions", "value": {"type": "color-text"}}]}
                 for heading, words in (states or {}).items()]
    options = {"showHeader": True, "cellHeight": "sm", "footer": {"show": False, "reducer": ["sum"]}}
    queries = [(expr, "", True) for expr in queries]
    return _panel("table", title, queries, (width, height), about, "short", options,
                  custom={"align": "auto", "filterable": True}, overrides=overrides, form="table",
                  transformations=transformations)


def dashboard(sections):
    """The whole dashboard: a row for each section, its panels from left to right."""
    panels, top, number = [], 0, 1
    for title, members in sections:
        panels.append({"type": "row", "id": number, "title": title, "collapsed": False, "panels": [],
                       "gridPos": {"x": 0, "y": top, "w": WIDTH, "h": 1}})
        number, top, left, height = number + 1, top + 1, 0, 0
        for panel in members:
            width, own = panel.pop("size")
            if left + width > WIDTH:
                left, top, height = 0, top + height, 0
            panels.append({"id": number, **panel, "gridPos": {"x": left, "y": top, "w": width, "h": own}})
            number, left, height = number + 1, left + width, max(height, own)
        top += height
    return {
        "title": "Pontoon", "uid": "pontoon", "tags": ["pontoon", "kubernetes"], "schemaVersion": 39,
        "version": 1, "id": None, "editable": True, "graphTooltip": 1, "refresh": "30s", "timezone": "browser",
        "time": {"from": "now-6h", "to": "now"}, "timepicker": {}, "links": [], "fiscalYearStartMonth": 0,
        "annotations": {"list": []}, "templating": {"list": [_datasource(), _cluster()]}, "panels": panels,
    }


def _datasource():
    return {"type": "datasource", "name": "datasource", "label": "Datasource", "query": "prometheus",
            "current": {}, "hide": 0, "includeAll": False, "multi": False, "options": [], "refresh": 1,
            "regex": "", "skipUrlSync": False}


def _cluster():
    # `.*` also finds series without the label: CLUSTER_NAME is optional.
    query = "label_values(pontoon_leader, cluster)"
    return {"type": "query", "name": "cluster", "label": "Cluster", "datasource": SOURCE,
            "query": {"query": query, "refId": "cluster"}, "definition": query, "hide": 0,
            "current": {"selected": True, "text": ["All"], "value": ["$__all"]},
            "includeAll": True, "allValue": ".*", "multi": True, "options": [], "refresh": 2, "regex": "",
            "skipUrlSync": False, "sort": 1}


def _panel(kind, title, queries, size, about, unit, options, custom=None, steps=None, mappings=None,
           overrides=None, transformations=None, form="time_series", least=None, most=None):
    defaults = {"unit": unit, "mappings": mappings or [], "custom": custom or {},
                "color": {"mode": "thresholds" if steps else "palette-classic"},
                "thresholds": {"mode": "absolute", "steps": [
                    {"value": value, "color": color} for value, color in steps or [(None, GREEN)]]}}
    defaults |= {"min": least} if least is not None else {}
    defaults |= {"max": most} if most is not None else {}
    targets = [{"refId": chr(ord("A") + index), "datasource": SOURCE, "expr": expr, "legendFormat": legend,
                "instant": instant, "range": not instant, "format": form, "editorMode": "code"}
               for index, (expr, legend, instant) in enumerate(queries)]
    return {"type": kind, "title": title, "description": about, "datasource": SOURCE, "targets": targets,
            "fieldConfig": {"defaults": defaults, "overrides": overrides or []}, "options": options,
            "transformations": transformations or [], "size": size}


def _field(key, queries):
    """The name of a column before it is renamed."""
    if not key.startswith("#"):
        return key
    return "Value" if len(queries) == 1 else f"Value {key}"


def _mappings(states):
    return [{"type": "value", "options": {str(value): {"text": word, "color": color, "index": index}
                                          for index, (value, (word, color)) in enumerate(states.items())}}]
