//! The process metrics of Prometheus' Go client, under the same names, for the predecessor's
//! dashboards.

use std::sync::{Arc, Mutex, PoisonError};

use pontoon_core::Time;
use prometheus::{Counter, Gauge, Opts, Registry};
use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};

/// The series of this process. Clones share the series.
#[derive(Clone, Debug)]
pub(super) struct Process {
    cpu: Counter,
    open_fds: Gauge,
    max_fds: Gauge,
    virtual_memory: Gauge,
    virtual_memory_max: Gauge,
    resident_memory: Gauge,
    /// Serializes updates, because the counter grows by the difference.
    looking: Arc<Mutex<()>>,
}

impl Process {
    pub fn register(registry: &Registry, started: Time) -> Result<Self, prometheus::Error> {
        let gauge = |name: &str, help: &str| {
            let gauge = Gauge::with_opts(Opts::new(format!("process_{name}"), help))?;
            registry.register(Box::new(gauge.clone()))?;
            Ok::<_, prometheus::Error>(gauge)
        };
        let cpu = Counter::new(
            "process_cpu_seconds_total",
            "Total user and system CPU time spent in seconds.",
        )?;
        registry.register(Box::new(cpu.clone()))?;
        let start = "Start time of the process since unix epoch in seconds.";
        gauge("start_time_seconds", start)?.set(started.as_micros() as f64 / 1_000_000.0);
        Ok(Self {
            cpu,
            open_fds: gauge("open_fds", "Number of open file descriptors.")?,
            max_fds: gauge("max_fds", "Maximum number of open file descriptors.")?,
            virtual_memory: gauge("virtual_memory_bytes", "Virtual memory size in bytes.")?,
            virtual_memory_max: gauge(
                "virtual_memory_max_bytes",
                "Maximum amount of virtual memory available in bytes.",
            )?,
            resident_memory: gauge("resident_memory_bytes", "Resident memory size in bytes.")?,
            looking: Arc::default(),
        })
    }

    /// Updates the series. A value that cannot be read stays as it is.
    pub fn look(&self) {
        let _alone = self.looking.lock().unwrap_or_else(PoisonError::into_inner);
        let spent = clock_gettime(ClockId::ProcessCPUTime);
        let spent = spent.tv_sec as f64 + spent.tv_nsec as f64 / 1e9;
        self.cpu.inc_by((spent - self.cpu.get()).max(0.0));
        if let Ok(open) = std::fs::read_dir("/proc/self/fd") {
            // The read itself opens a descriptor.
            self.open_fds.set(open.count().saturating_sub(1) as f64);
        }
        // Without a limit, Go's client shows the largest number.
        let limit = |of| getrlimit(of).current.unwrap_or(u64::MAX) as f64;
        self.max_fds.set(limit(Resource::Nofile));
        self.virtual_memory_max.set(limit(Resource::As));
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        for (field, gauge) in [("VmSize:", &self.virtual_memory), ("VmRSS:", &self.resident_memory)]
        {
            if let Some(kibibytes) = field_of(&status, field) {
                gauge.set(kibibytes * 1024.0);
            }
        }
    }
}

/// The number of a line such as `VmRSS:     1234 kB`.
fn field_of(status: &str, field: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The metrics of client_golang's process collector on Linux, without `process_network_*`
    /// (since 1.21), which FLIPOP does not show.
    const NAMES: [&str; 7] = [
        "process_cpu_seconds_total",
        "process_max_fds",
        "process_open_fds",
        "process_resident_memory_bytes",
        "process_start_time_seconds",
        "process_virtual_memory_bytes",
        "process_virtual_memory_max_bytes",
    ];

    #[test]
    fn the_series_of_a_process_are_those_of_the_go_client_and_none_is_empty() {
        let registry = Registry::new();
        let process = Process::register(&registry, Time::from_micros(1_500_000)).unwrap();
        process.look();
        let families = registry.gather();
        let names: Vec<_> = families.iter().map(|one| one.name().to_owned()).collect();
        assert_eq!(names, NAMES);
        for family in &families {
            let metric = &family.get_metric()[0];
            let value = metric.get_gauge().get_value() + metric.get_counter().get_value();
            assert!(value > 0.0, "{}", family.name());
        }
    }
}
