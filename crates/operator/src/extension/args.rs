//! Flags of the runtime extension, with the names and defaults of capi-vip-allocator's README.

use std::path::PathBuf;

use clap::Args;

use crate::args::boolean;

/// Options for the runtime extension of Cluster API.
#[derive(Args, Clone, Debug)]
pub struct ExtensionArgs {
    /// Serve the runtime extension of Cluster API, with the hook that holds a new Cluster back until
    /// its VIP is set.
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
    pub enable_runtime_extension: bool,

    /// Port of the runtime extension, on every interface.
    #[arg(
        long,
        default_value_t = 9443,
        value_parser = clap::value_parser!(u16).range(1..),
        value_name = "PORT"
    )]
    pub runtime_extension_port: u16,

    /// Beginning of the names of the runtime extension's handlers.
    #[arg(long, default_value = "vip-allocator", value_parser = handler_name, value_name = "NAME")]
    pub runtime_extension_name: String,

    /// Folder with tls.crt and tls.key for the runtime extension. A changed pair is used within
    /// seconds, without a restart.
    #[arg(long, default_value = "/tmp/runtime-extension/serving-certs", value_name = "FOLDER")]
    pub runtime_extension_cert_dir: PathBuf,
}

/// Longest beginning of a handler's name. Cluster API allows 63 characters in all.
const LONGEST_NAME: usize = 40;

/// The beginning of handlers' names, which are DNS labels.
fn handler_name(text: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let begins = text.starts_with(|c: char| c.is_ascii_alphanumeric());
    if begins && text.len() <= LONGEST_NAME && text.chars().all(fits) {
        return Ok(text.to_owned());
    }
    Err(format!(
        "write small letters, digits and hyphens, {LONGEST_NAME} characters at most, with a letter or a \
         digit first"
    ))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Alone {
        #[command(flatten)]
        extension: ExtensionArgs,
    }

    fn parsed(args: &[&str]) -> Result<ExtensionArgs, String> {
        let alone = Alone::try_parse_from(["x"].iter().chain(args));
        alone.map(|alone| alone.extension).map_err(|error| error.to_string())
    }

    #[test]
    fn the_runtime_extension_is_off_and_its_flags_are_the_predecessors() {
        let args = parsed(&[]).unwrap();
        assert!(!args.enable_runtime_extension);
        assert_eq!(args.runtime_extension_port, 9443);
        assert_eq!(args.runtime_extension_name, "vip-allocator");
        let theirs = ["--enable-runtime-extension=true", "--runtime-extension-port=9444"];
        let args = parsed(&theirs).unwrap();
        assert!(args.enable_runtime_extension && args.runtime_extension_port == 9444);
    }

    #[test]
    fn a_name_that_cluster_api_would_refuse_is_refused_at_the_start() {
        let long = "a".repeat(41);
        for name in ["", "a.b", "A", "-a", "a_b", &long] {
            let error = parsed(&[&format!("--runtime-extension-name={name}")]).unwrap_err();
            assert!(error.contains("--runtime-extension-name"), "{error}");
        }
        for port in ["0", "65536", "https"] {
            parsed(&[&format!("--runtime-extension-port={port}")]).unwrap_err();
        }
    }
}
