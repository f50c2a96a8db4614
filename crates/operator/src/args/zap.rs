//! The flags of controller-runtime's logger.

use clap::{Args, ValueEnum};

use super::{LogFormat, LogLevel, boolean};

/// Options of controller-runtime's logger, in their own words.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Options of controller-runtime's logger")]
pub struct ZapArgs {
    /// Log reads and plans too, as text, unless other flags say otherwise.
    #[arg(
        long,
        default_value_t = false,
        action = clap::ArgAction::Set,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        value_parser = boolean,
        value_name = "BOOL"
    )]
    pub zap_devel: bool,

    /// Format of log lines, unless --log-format names one.
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub zap_encoder: Option<ZapEncoder>,

    /// Which log lines are written: debug, info, error, panic (none), or a number (debug).
    #[arg(long, value_parser = level, value_name = "LEVEL")]
    pub zap_log_level: Option<LogLevel>,

    /// Without effect: log lines have no stack traces.
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub zap_stacktrace_level: Option<StacktraceLevel>,

    /// Without effect: times of log lines are RFC 3339.
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub zap_time_encoding: Option<TimeEncoding>,
}

/// A format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ZapEncoder {
    /// One JSON object per line.
    Json,
    /// Readable lines.
    Console,
}

/// The least severe log line with a stack trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StacktraceLevel {
    /// info
    Info,
    /// error
    Error,
    /// panic
    Panic,
}

/// A format of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TimeEncoding {
    /// Seconds since 1970.
    Epoch,
    /// Milliseconds since 1970.
    Millis,
    /// Nanoseconds since 1970.
    Nano,
    /// ISO 8601.
    Iso8601,
    /// RFC 3339.
    Rfc3339,
    /// RFC 3339 with nanoseconds.
    Rfc3339nano,
}

impl ZapArgs {
    /// Which log lines are written, if a flag says so.
    pub fn level(&self) -> Option<LogLevel> {
        self.zap_log_level.or(self.zap_devel.then_some(LogLevel::Debug))
    }

    /// How log lines look.
    pub fn format(&self) -> LogFormat {
        match self.zap_encoder {
            Some(ZapEncoder::Json) => LogFormat::Json,
            Some(ZapEncoder::Console) => LogFormat::Text,
            None if self.zap_devel => LogFormat::Text,
            None => LogFormat::Auto,
        }
    }
}

fn level(text: &str) -> Result<LogLevel, String> {
    match text.to_ascii_lowercase().as_str() {
        "debug" => Ok(LogLevel::Debug),
        "info" => Ok(LogLevel::Info),
        "error" => Ok(LogLevel::Error),
        "panic" => Ok(LogLevel::Off),
        number if number.parse::<u8>().is_ok_and(|number| number > 0) => Ok(LogLevel::Debug),
        _ => Err("write debug, info, error, panic, or a number greater than 0".to_owned()),
    }
}
