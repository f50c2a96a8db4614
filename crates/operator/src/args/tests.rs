use super::*;

fn run_args(args: &[&str]) -> RunArgs {
    let all = ["pontoon", "run"].iter().chain(args);
    match Cli::read(all).unwrap().command {
        Command::Run(args) => *args,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_predecessors_flags_are_understood() {
    let args = run_args(&["--debug", "--kubeconfig", "f", "--metrics-bind-addr", ""]);
    assert!(args.debug && args.metrics_bind_addr.is_empty());
    assert!(run_args(&["--debug=true"]).debug && run_args(&["--debug=1"]).debug);
    assert!(!run_args(&["--debug=false"]).debug && !run_args(&[]).debug);
    assert_eq!(run_args(&["--metrics-bind-address=:9"]).metrics_bind_addr, ":9");
    assert!(run_args(&["--leader-elect"]).leader_elect);
    assert!(!run_args(&["--leader-elect=false"]).leader_elect);
}

#[test]
fn times_that_make_no_sense_are_refused_by_the_name_of_their_flag() {
    let refused = |args: &[&str]| run_args(args).validate().unwrap_err();
    assert!(refused(&["--retry-initial=0s"]).contains("--retry-initial"));
    assert!(refused(&["--provider-timeout=0s"]).contains("--provider-timeout"));
    assert!(refused(&["--retry-initial=10m", "--retry-max=1s"]).contains("--retry-max"));
    assert_eq!(run_args(&[]).validate(), Ok(()));
    assert_eq!(run_args(&[]).timing(), Timing::default());
}

#[test]
fn every_kind_is_served_unless_some_are_chosen() {
    let served = |args: &[&str]| run_args(args).controllers().to_string();
    let all = "floatingippools,nodednsrecordsets,netipallocations,clusters";
    assert_eq!(served(&[]), all);
    assert_eq!(
        served(&["--controllers=clusters, netipallocations,clusters"]),
        "netipallocations,clusters"
    );
    let twice = ["--controllers", "clusters", "-controllers=floatingippools"];
    assert_eq!(served(&twice), "floatingippools,clusters");
}

#[test]
fn the_predecessors_switch_takes_clusters_from_the_chosen_kinds() {
    let off = "--enable-reconciler=false";
    let served = |args: &[&str]| run_args(args).controllers().to_string();
    assert_eq!(served(&[off]), "floatingippools,nodednsrecordsets,netipallocations");
    assert_eq!(served(&[off, "--controllers=clusters,netipallocations"]), "netipallocations");
    let refused = run_args(&[off, "--controllers=clusters"]).validate().unwrap_err();
    assert!(
        refused.contains("--controllers") && refused.contains("--enable-reconciler"),
        "{refused}"
    );
}

#[test]
fn an_unknown_controller_and_an_empty_choice_are_refused_with_the_names() {
    for wrong in ["", "pools", "clusters,", ",clusters", "Cluster", "floatingippools;clusters"] {
        let args = ["pontoon", "run", "--controllers", wrong];
        let refused = Cli::read(args).unwrap_err().to_string();
        let names = "floatingippools, nodednsrecordsets, netipallocations, clusters";
        assert!(refused.contains(names) && refused.contains("--controllers"), "{refused}");
    }
}

#[test]
fn only_predecessors_of_chosen_kinds_are_looked_for() {
    let sought = |chosen: &str| {
        let all = run_args(&[&format!("--controllers={chosen}")]).predecessors();
        all.into_iter().map(|one| one.predecessor.namespace).collect::<Vec<_>>()
    };
    assert_eq!(sought("clusters"), ["capi-system"]);
    assert_eq!(sought("netipallocations"), ["kube-system"]);
    assert_eq!(sought("floatingippools"), ["flipop"]);
    assert_eq!(sought("nodednsrecordsets"), ["flipop"]);
}

#[test]
fn what_is_nearly_right_is_suggested() {
    let refused = |args: &[&str]| Cli::read(args).unwrap_err().to_string();
    assert!(refused(&["pontoon", "sandbx"]).contains("'sandbox'"));
    assert!(refused(&["pontoon", "run", "--retry-inital=1s"]).contains("'--retry-initial'"));
}

#[test]
fn predecessors_are_looked_for_where_they_are_documented_and_where_the_flag_says() {
    let namespaces = |args: &[&str]| {
        let mut all = run_args(args).predecessors();
        let flipop = all.iter().position(|one| one.predecessor.namespace == "flipop");
        Vec::from_iter(all.remove(flipop.unwrap()).namespaces)
    };
    assert_eq!(namespaces(&[]), ["flipop"]);
    assert_eq!(namespaces(&["--predecessor-namespaces="]), ["flipop"]);
    let args = ["--predecessor-namespaces=net, edge,", "--predecessor-namespaces", "flipop"];
    assert_eq!(namespaces(&args), ["edge", "flipop", "net"]);
    let refused = ["pontoon", "run", "--predecessor-namespaces=Net_1"];
    let error = Cli::read(refused).unwrap_err().to_string();
    assert!(error.contains("separated by commas"), "{error}");
}

#[test]
fn the_lease_of_ip_address_controller_has_the_name_that_its_users_gave_it_and_flipops_its_own() {
    let leases = |args: &[&str]| {
        let mut args = run_args(args);
        args.vips.enable_reconciler = false;
        let all = args.predecessors().into_iter();
        all.map(|one| one.lease).collect::<Vec<_>>()
    };
    let flipop = "floating-ip-pool-controller-leader-election";
    assert_eq!(leases(&[]), [flipop, "ip-address-controller-leader"]);
    let flag = "--ip-address-controller-lease-name";
    assert_eq!(leases(&[flag, ""]), [flipop, "ip-address-controller-leader"]);
    assert_eq!(leases(&[flag, "sip.leader-2"]), [flipop, "sip.leader-2"]);
    let refused = |name: &str| {
        let args = ["pontoon", "run", flag, name];
        Cli::read(args).unwrap_err().to_string()
    };
    for name in ["Leader", "a/b", "a b", ".a", "a-"] {
        assert!(refused(name).contains("small letters, digits"), "{name}");
    }
    for name in [flipop, "pontoon", "pontoon-observe"] {
        assert!(refused(name).contains("of another controller"), "{name}");
    }
}

#[test]
fn the_duration_of_a_lease_may_be_a_number_of_seconds_as_ip_address_controllers() {
    let lease = |text: &str| {
        run_args(&["--leader-elect-lease-duration", text]).leader_elect_lease_duration.as_secs()
    };
    assert_eq!((lease("60"), lease("60s"), lease("1m"), lease("")), (60, 60, 60, 15));
    for text in ["soon", "-1", "3601", "9e9h"] {
        let args = ["pontoon", "run", &format!("--leader-elect-lease-duration={text}")];
        let error = Cli::read(args).unwrap_err().to_string();
        assert!(error.contains("LEASE_DURATION=60"), "{error}");
    }
    let short = run_args(&["--leader-elect-lease-duration=5"]);
    let error = short.timing().validate(short.provider_timeout).unwrap_err().to_string();
    assert!(error.contains("--leader-elect-lease-duration"), "{error}");
}

#[test]
fn spans_are_read_with_their_unit() {
    assert_eq!(duration("1.5s"), Ok(Duration::from_millis(1500)));
    assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
    assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
    assert!(duration("5").is_err() && duration("s").is_err());
}

/// The arguments of a container of capi-vip-allocator, which has no command.
fn manager_args(args: &[&str]) -> RunArgs {
    match Cli::read(["pontoon"].iter().chain(args)).unwrap().command {
        Command::Run(args) => *args,
        other => panic!("{other:?}"),
    }
}

#[test]
fn flags_of_go_have_one_dash_or_two_and_their_value_behind_a_space_or_an_equals_sign() {
    for dashes in ["-", "--"] {
        let flag = |text: &str| format!("{dashes}{text}");
        let args = [flag("metrics-bind-address=:9"), flag("default-port"), "6444".to_owned()];
        let args = run_args(&args.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!((&*args.metrics_bind_addr, args.vips.default_port), (":9", 6444));
        let args = run_args(&[&flag("enable-reconciler=false"), &flag("leader-elect=false")]);
        assert!(!args.vips.enable_reconciler && !args.leader_elect);
        assert_eq!(run_args(&[&flag("kubeconfig"), "f"]).kubeconfig, Some("f".into()));
        assert_eq!(run_args(&[&flag("namespace=team")]).vips().namespace.unwrap(), "team");
    }
    assert_eq!(run_args(&[]).vips().namespace, None);
}

#[test]
fn a_command_line_without_a_command_runs_the_operator_as_capi_vip_allocators_does() {
    let args = manager_args(&["-leader-elect"]);
    assert_eq!(args.addresses(), [Some(":8080"), Some(":8081")]);
    assert!(args.leader_elect && args.vips.enable_reconciler);
    assert_eq!(args.vips.default_port, 6443);
    for probes in [&["-health-probe-bind-address", ":7"][..], &["--health-probe-bind-address=:7"]] {
        assert_eq!(manager_args(probes).addresses()[1], Some(":7"));
    }
    let none = ["--metrics-bind-address=0", "--health-probe-bind-address=0"];
    assert_eq!(manager_args(&none).addresses(), [None, None]);
    assert_eq!(run_args(&[]).addresses(), [Some(":8080"), None]);
    let refused = |args: &[&str]| Cli::read(args).unwrap_err();
    assert_eq!(refused(&["pontoon", "--version"]).kind(), clap::error::ErrorKind::DisplayVersion);
    assert_eq!(refused(&["pontoon", "-h"]).kind(), clap::error::ErrorKind::DisplayHelp);
}

#[test]
fn an_unknown_flag_is_refused_by_its_name_however_it_is_written() {
    for args in
        [&["run", "--webhook-port=9"][..], &["run", "-webhook-port=9"], &["-webhook-port=9"]]
    {
        let given = ["pontoon"].iter().chain(args);
        let error = Cli::read(given).unwrap_err().to_string();
        assert!(error.contains("'--webhook-port'"), "{error}");
    }
}

#[test]
fn the_flags_of_controller_runtimes_logger_choose_level_and_format() {
    let log = |args: &[&str]| {
        let args = manager_args(args);
        (args.log_level(), args.log_format())
    };
    assert_eq!(log(&["--leader-elect"]), (LogLevel::Info, LogFormat::Auto));
    assert_eq!(log(&["--zap-devel"]), (LogLevel::Debug, LogFormat::Text));
    assert_eq!(log(&["--zap-devel=false"]), (LogLevel::Info, LogFormat::Auto));
    let json = ["--zap-devel", "--zap-encoder=json", "--zap-log-level", "info"];
    assert_eq!(log(&json), (LogLevel::Info, LogFormat::Json));
    assert_eq!(log(&["-zap-encoder=console"]), (LogLevel::Info, LogFormat::Text));
    assert_eq!(log(&["--zap-log-level=error"]).0, LogLevel::Error);
    assert_eq!(log(&["--zap-log-level=panic"]).0, LogLevel::Off);
    assert_eq!(log(&["--zap-log-level=5"]).0, LogLevel::Debug);
    assert_eq!(log(&["--debug", "--log-format=json", "--zap-encoder=console"]).1, LogFormat::Json);
    log(&["--zap-stacktrace-level=error", "--zap-time-encoding=rfc3339nano"]);
    for wrong in ["--zap-log-level=loud", "--zap-log-level=0", "--zap-encoder=xml"] {
        let error = Cli::read(["pontoon", "run", wrong]).unwrap_err().to_string();
        assert!(error.contains(wrong.split('=').next().unwrap()), "{error}");
    }
}
