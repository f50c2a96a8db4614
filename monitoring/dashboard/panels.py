"""The panels of the dashboard: sections from top to bottom, panels from left to right.

Every query names the clusters that are chosen; `RATE` is Grafana's interval for rates.
"""

from shapes import BLUE, GREEN, GREY, RED, YELLOW, gauge, graph, stat, table, timeline

C = 'cluster=~"$cluster"'
RATE = "$__rate_interval"
POOL = "flipop_floatingippoolcontroller_"
VIP = "capi_vip_allocator_"
NIA = "netipallocation_"

YES = {1: ("yes", GREEN), 0: ("no", GREY)}
HEALTHY = {1: ("healthy", GREEN), 0: ("unhealthy", RED)}
ADDRESS_STATES = {1: ("active", GREEN), 2: ("in-progress", BLUE), 3: ("unassigned", YELLOW),
                  4: ("no-match", "orange"), 5: ("error", RED), 6: ("disabled", GREY)}
TRUTH = {1: ("True", GREEN), 2: ("Unknown", YELLOW), 3: ("False", RED)}


def numbered(series, label, labels, states, without=""):
    """One series for each thing, whose value stands for its state."""
    each = [f'{series}{{{labels},{label}="{word}"}} * {number}' for number, (word, _) in states.items()]
    return f"max without ({label}{without}) ({' or '.join(each)})"


def truth(condition):
    """The status of a condition of each object."""
    status = numbered("pontoon_condition", "status", f"{C},condition{condition}", TRUTH, ", reason")
    return [(status, "{{kind}} {{namespace}}/{{name}}")]


def quantiles(series, by="", labels=""):
    """The 50th, 90th and 99th percentile of a histogram."""
    groups, name = (f"{by}, le", f"{{{{{by}}}}} ") if by else ("le", "")
    chosen = f"{C},{labels}" if labels else C
    return [(f"histogram_quantile({share}, sum by ({groups}) (rate({series}_bucket{{{chosen}}}[{RATE}])))",
             f"{name}p{int(share * 100)}") for share in (0.5, 0.9, 0.99)]


def age(series):
    return f"time() - {series}{{{C}}}"


OVERVIEW = [
    stat("Leader", f"sum(pontoon_leader{{{C}}})", good=1, about="Replicas that lead: one in each cluster."),
    stat("Ready", f"sum({NIA}controller_ready{{{C}}})", good=1, about="Replicas that see the whole cluster."),
    stat("Healthy", f"sum({NIA}controller_healthy{{{C}}})", good=1, about="Replicas whose main loop runs."),
    stat("Objects", f"count(count by (cluster, kind, namespace, name) (pontoon_condition{{{C}}}))",
         about="Pools, record sets, allocations and Clusters."),
    stat("Addresses", f"(count({POOL}ip_state{{{C}}}) or vector(0)) + (sum({NIA}reserved_ips_total{{{C}}}) or vector(0))",
         about="Addresses of pools and allocations."),
    stat("Unassigned", f'(count({POOL}ip_state{{{C},state!~"active|disabled"}}) or vector(0))'
         f" + (sum({NIA}unattached_ips_total{{{C}}}) or vector(0))", bad=1,
         about="Addresses that are on no eligible node, or on their way."),
]

ELECTION = [
    timeline("Leader election history", [(f"{NIA}controller_is_leader{{{C}}}", "{{pod_name}}")],
             {1: ("leads", GREEN), 0: ("follows", GREY)}, width=12),
    table("Controller pods", [f"max by (pod_name) ({NIA}controller_{what}{{{C}}})"
                              for what in ("is_leader", "ready", "healthy")],
          {"pod_name": "Pod", "#A": "Leader", "#B": "Ready", "#C": "Healthy"},
          {"Leader": YES, "Ready": YES, "Healthy": YES}),
]

OBJECTS = [
    timeline("Ready", truth('=~"Ready|.*/VIPReady"'), TRUTH, width=12),
    table("Conditions", [f'max by (kind, namespace, name, condition, status, reason) (pontoon_condition{{{C},condition=~"Ready|DNSReady|.*/VIPReady"}})'],
          {"kind": "Kind", "namespace": "Namespace", "name": "Name", "condition": "Condition", "status": "Status",
           "reason": "Reason"}),
]

POOLS = [
    timeline("Node of each address", [(f"{POOL}ip_node{{{C}}}", "{{ip}} → {{node}} ({{namespace}}/{{name}})")],
             {1: ("here", GREEN)}, width=12,
             about="A row for each address and node, coloured while the address is there or on its way there."),
    timeline("State of each address", [(numbered(f"{POOL}ip_state", "state", C, ADDRESS_STATES),
                                        "{{ip}} ({{namespace}}/{{name}})")], ADDRESS_STATES, width=12),
    graph("Unfulfilled addresses", [(f"sum by (namespace, name) ({POOL}unfulfilled_ips{{{C}}})", "{{namespace}}/{{name}}")],
          about="Addresses that a pool wants and does not have."),
    graph("Nodes", [(f"sum by (namespace, name, status) ({POOL}node_status{{{C}}})", "{{namespace}}/{{name}} {{status}}")],
          about="assigned: addresses on a machine. available: nodes that could take an address now; at 0 the next failover has no room."),
]

ALLOCATIONS = [
    table("Allocations", [f"max by (crd_name) ({NIA}{what}{{{C}}})" for what in
                          ("crd_status", "reserved_ips_total", "attached_ips_total", "unattached_ips_total")],
          {"crd_name": "Allocation", "#A": "Status", "#B": "Reserved", "#C": "Attached", "#D": "Unattached"},
          {"Status": HEALTHY}, width=18),
    gauge("Attachment rate", f"sum({NIA}attached_ips_total{{{C}}}) / sum({NIA}reserved_ips_total{{{C}}}) * 100"),
    timeline("Node of each address", [(f"{NIA}ip_attached{{{C}}} == 1", "{{ip}} → {{node}} ({{crd_name}})")],
             {1: ("here", GREEN)}, width=12),
    table("Nodes with addresses", [f"max by (node) ({NIA}node_cordoned{{{C}}})", f"max by (node) ({NIA}node_ip_ready{{{C}}})"],
          {"node": "Node", "#A": "Cordoned", "#B": "ip.ready"},
          {"Cordoned": {1: ("yes", YELLOW), 0: ("no", GREEN)}, "ip.ready": YES}),
    timeline("Cordoned nodes with addresses", [(f"{NIA}node_cordoned{{{C}}}", "{{node}}")],
             {1: ("cordoned", YELLOW), 0: ("schedulable", GREEN)}),
]

MOVES = [
    graph("Duration of moves", quantiles("pontoon_move_duration_seconds", "kind"), "s",
          "From the first call until a listing shows the address on its new node."),
    graph("Causes of moves", [(f"sum by (cause) (increase(pontoon_moves_total{{{C}}}[{RATE}])) > 0", "{{cause}}")], bars=True),
    graph("Failed assignments", [
        (f"sum by (namespace, name) (increase({POOL}ip_assignment_errors{{{C}}}[{RATE}]))", "{{namespace}}/{{name}}"),
        (f'sum by (crd_name) (increase({NIA}ip_attach_total{{{C},status="error"}}[{RATE}]))', "{{crd_name}}")], bars=True),
    graph("Changes by somebody else", [
        (f"sum by (kind, namespace, name, subject) (increase(pontoon_drifts_total{{{C}}}[{RATE}]))",
         "{{subject}}: {{kind}} {{namespace}}/{{name}}")], bars=True),
    graph("Attachments and detachments", [
        (f"sum by (crd_name, status) (increase({NIA}ip_attach_total{{{C}}}[{RATE}]))", "attach {{crd_name}} {{status}}"),
        (f"sum by (crd_name, status) (increase({NIA}ip_detach_total{{{C}}}[{RATE}]))", "detach {{crd_name}} {{status}}")], bars=True),
    graph("Assignments by address", [
        (f"sum by (ip) (increase({POOL}ip_assignments{{{C}}}[1h]))", "{{ip}}")],
        about="Within an hour. An address that moves more than five times an hour flaps."),
]

DNS = [
    timeline("DNSReady", truth('="DNSReady"'), TRUTH, width=12),
    graph("Records of nodes", [(f"sum by (namespace, name, dns) (flipop_nodednsrecordset_records{{{C}}})", "{{dns}} ({{namespace}}/{{name}})")],
          about="Addresses that the name of a NodeDNSRecordSet should list."),
    graph("Calls to DNS hosts", [
        (f'sum by (provider, call, outcome) (rate(flipop_providers_calls_total{{{C},call=~".*DNS.*"}}[{RATE}]))',
         "{{provider}} {{call}} {{outcome}}")], "reqps"),
    graph("Duration of calls to DNS hosts", quantiles("flipop_providers_call_duration_seconds", "provider", 'call=~".*DNS.*"'), "s"),
]

VIPS = [
    graph("Free addresses of VIP pools", [
        (f"{VIP}pool_addresses_free{{{C}}}", "{{pool_name}} free"),
        (f"{VIP}pool_addresses_total{{{C}}}", "{{pool_name}} total")]),
    graph("Claims", [
        (f"{VIP}claims_ready{{{C}}}", "{{namespace}} {{role}} ready"),
        (f"{VIP}claims_pending{{{C}}}", "{{namespace}} {{role}} pending")]),
    graph("Allocations", [
        (f"sum by (cluster_class, role) (increase({VIP}allocations_total{{{C}}}[{RATE}]))", "{{cluster_class}} {{role}}"),
        (f"sum by (cluster_class, reason) (increase({VIP}allocation_errors_total{{{C}}}[{RATE}]))", "{{cluster_class}} {{reason}}")], bars=True),
    graph("Duration of allocations", quantiles(f"{VIP}allocation_duration_seconds", "cluster_class"), "s"),
    table("VIP pools of classes", [f"max by (cluster_class, role) ({VIP}pools_available{{{C}}})"],
          {"cluster_class": "Class", "role": "Role", "#A": "VIP pools"}),
    graph("Plans of Clusters", [
        (f"sum by (cluster_class, result) (rate({VIP}reconcile_total{{{C}}}[{RATE}]))", "{{cluster_class}} {{result}}")], "ops"),
]

OPERATIONS = [
    graph("Calls to providers", [
        (f"sum by (provider, call, outcome) (rate(flipop_providers_calls_total{{{C}}}[{RATE}]))", "{{provider}} {{call}} {{outcome}}")], "reqps"),
    graph("Duration of calls", quantiles("flipop_providers_call_duration_seconds", "call"), "s"),
    graph("Failed and held back calls", [
        (f"sum by (provider, error) (increase(pontoon_provider_errors_total{{{C}}}[{RATE}])) > 0", "{{provider}} {{error}}")], bars=True,
        about="throttled: refused by the rate limit. held_back: little of the limit is left. paced: the operator's own pace."),
    graph("API errors of Google Cloud", [
        (f"sum by (operation, error_type) (rate({NIA}gcp_api_errors_total{{{C}}}[{RATE}]))", "{{operation}} {{error_type}}")], "reqps"),
    graph("Reconciliation rate", [
        (f"sum by (crd_name, status) (rate({NIA}reconcile_total{{{C}}}[{RATE}]))", "{{crd_name}} {{status}}")], "ops",
        "Plans that considered an allocation."),
    graph("Reconciliation duration", quantiles(f"{NIA}reconcile_duration_seconds", "crd_name"), "s"),
]

HEALTH = [
    graph("Silence of watches", [(age("pontoon_watch_last_heard_timestamp_seconds"), "{{kind}}")], "s",
          "Seconds since the API server last said something. Above 120 the replica is blind to that kind."),
    graph("Age of listings", [(age("pontoon_listing_last_success_timestamp_seconds"), "{{account}}")], "s",
          "Seconds since the last answered listing of an account was sent."),
    graph("Refused and failed writes to Kubernetes", [
        (f"sum by (write, error) (increase(pontoon_kubernetes_write_errors_total{{{C}}}[{RATE}]))", "{{write}} {{error}}"),
        (f"sum(increase(pontoon_events_left_out_total{{{C}}}[{RATE}]))", "events left out")], bars=True),
    timeline("Other controllers", [
        (f"max by (reason) (pontoon_standing_aside{{{C}}})", "stands aside: {{reason}}"),
        (f"max by (lease) (pontoon_leases_elsewhere{{{C}}}) > bool 0", "Lease elsewhere: {{lease}}")],
        {1: ("yes", RED), 0: ("no", GREEN)}, width=12),
    graph("Duration of plans", quantiles("pontoon_plan_duration_seconds"), "s"),
    graph("Processor", [(f"rate(process_cpu_seconds_total{{{C}}}[{RATE}])", "{{instance}}")], "short", "Processors in use.", width=6),
    graph("Memory", [(f"process_resident_memory_bytes{{{C}}}", "{{instance}}")], "bytes", width=6),
    table("Versions", [f"max by (instance, version) (pontoon_build_info{{{C}}})"], {"instance": "Replica", "version": "Version"}, width=12),
]

SECTIONS = [
    ("Controller overview", OVERVIEW),
    ("Leader election", ELECTION),
    ("Objects", OBJECTS),
    ("Pools (FloatingIPPool)", POOLS),
    ("Allocations (NetIPAllocation)", ALLOCATIONS),
    ("Moves", MOVES),
    ("DNS", DNS),
    ("VIPs of Clusters", VIPS),
    ("Operations and errors", OPERATIONS),
    ("Operator health", HEALTH),
]
