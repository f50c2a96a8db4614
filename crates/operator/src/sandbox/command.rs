//! Commands of the sandbox: typed as words, or as single keys.

use std::time::Duration;

/// A command of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Makes a node, and its pods, unready.
    Kill(Option<String>),
    /// Cordons a node.
    Cordon(Option<String>),
    /// Cordons a node and evicts its pods.
    Drain(Option<String>),
    /// Heals a node.
    Heal(Option<String>),
    /// Adds a node.
    Add,
    /// The provider answers every call with 503, or stops doing so.
    Fail,
    /// The provider answers every call with 429 for a while.
    Throttle(Duration),
    /// Kills the operator's leader and starts it again.
    Crash,
    /// Stops the operator's leader until another replica leads.
    Freeze,
    /// Moves an address at the provider, to a node or off all nodes.
    Move(Option<String>, Option<String>),
    /// Show nodes, objects and names.
    Status,
    /// Wait until every object is ready, at most this long.
    Wait(Duration),
    /// Show the commands.
    Help,
    /// End the sandbox.
    Quit,
}

/// The help text.
pub const HELP: &str = "\
kill [node]        a node stops being ready (without a name: one that holds an address)
cordon [node]      a node is cordoned
drain [node]       a node is cordoned, and its pods are evicted
heal [node]        it is well again (without a name: all are, at once)
add                one more node joins
fail               the cloud answers 503, or stops doing so
throttle [30s]     the cloud answers 429 for a while
move [ip [node]]   somebody moves an address at the cloud (node \"none\": takes it off)
crash              the operator is killed and started anew
freeze             the leader is stopped until another replica has taken over
status             nodes with their addresses, pools, allocations, Deployments, names
wait [60s]         until all of these are ready
quit               end";

/// The keys, on a line.
pub const KEYS: &str = "[k]ill a node  [c]ordon one  [d]rain one  [h]eal all  [a]dd one  [f]ail the cloud  \
                        [t]hrottle it  [m]ove an address  crash [x] the operator  free[z]e it  \
                        [s]tatus  [?] help  [q]uit";

/// Default of `wait`.
const PATIENCE: Duration = Duration::from_secs(60);

/// The word for no node in `move`.
pub const NOWHERE: &str = "none";

/// Default of `throttle`.
const THROTTLE: Duration = Duration::from_secs(30);

impl Command {
    /// Parses a line; `None` for an empty line or a comment.
    ///
    /// # Errors
    /// In words, if the line is not a command.
    pub fn parse(line: &str) -> Result<Option<Self>, String> {
        let line = line.split('#').next().unwrap_or_default();
        let mut words = line.split_whitespace();
        let Some(verb) = words.next() else { return Ok(None) };
        let argument = words.next().map(str::to_owned);
        let second = words.next().map(str::to_owned);
        if words.next().is_some() || (second.is_some() && verb != "move") {
            return Err(format!("\"{}\": one word too many\n{HELP}", line.trim()));
        }
        let span = |text: Option<String>, usual| match text {
            Some(text) => crate::args::duration(&text),
            None => Ok(usual),
        };
        let plain = |command: Self| match &argument {
            None => Ok(command),
            Some(extra) => Err(format!("\"{verb}\" takes no \"{extra}\"")),
        };
        let command = match verb {
            "kill" => Self::Kill(argument),
            "cordon" => Self::Cordon(argument),
            "drain" => Self::Drain(argument),
            "heal" => Self::Heal(argument),
            "throttle" => Self::Throttle(span(argument, THROTTLE)?),
            "wait" => Self::Wait(span(argument, PATIENCE)?),
            "move" => Self::Move(argument, second),
            "crash" => plain(Self::Crash)?,
            "freeze" => plain(Self::Freeze)?,
            "add" => plain(Self::Add)?,
            "fail" => plain(Self::Fail)?,
            "status" => plain(Self::Status)?,
            "help" => plain(Self::Help)?,
            "quit" | "exit" => plain(Self::Quit)?,
            other => return Err(format!("\"{other}\" is not a command; there are\n{HELP}")),
        };
        Ok(Some(command))
    }

    /// Reads a key.
    pub fn of_key(key: u8) -> Option<Self> {
        Some(match key.to_ascii_lowercase() {
            b'k' => Self::Kill(None),
            b'c' => Self::Cordon(None),
            b'd' => Self::Drain(None),
            b'h' => Self::Heal(None),
            b'a' => Self::Add,
            b'f' => Self::Fail,
            b't' => Self::Throttle(THROTTLE),
            b'm' => Self::Move(None, None),
            b'x' => Self::Crash,
            b'z' => Self::Freeze,
            b's' => Self::Status,
            b'?' => Self::Help,
            // Ctrl-C and Ctrl-D, which a terminal without line editing passes on unchanged.
            b'q' | 3 | 4 => Self::Quit,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_with_their_comments_left_out() {
        let parse = |line: &str| Command::parse(line).unwrap();
        assert_eq!(parse("kill node-1  # the first"), Some(Command::Kill(Some("node-1".into()))));
        assert_eq!(parse("  "), None);
        assert_eq!(parse("throttle 5s"), Some(Command::Throttle(Duration::from_secs(5))));
        assert_eq!(parse("wait"), Some(Command::Wait(PATIENCE)));
        assert_eq!(parse("wait 5s"), Some(Command::Wait(Duration::from_secs(5))));
        let (ip, node) = (Some("192.0.2.1".to_owned()), Some("none".to_owned()));
        assert_eq!(parse("move 192.0.2.1 none"), Some(Command::Move(ip, node)));
        assert_eq!(parse("heal"), Some(Command::Heal(None)));
    }

    #[test]
    fn a_line_that_is_no_command_says_which_there_are() {
        assert!(Command::parse("explode").unwrap_err().contains("cordon [node]"));
        assert!(Command::parse("add two").unwrap_err().contains("takes no"));
        assert!(Command::parse("kill a b").unwrap_err().contains("too many"));
    }

    #[test]
    fn every_key_of_the_legend_does_something() {
        for (at, _) in KEYS.match_indices('[') {
            assert!(Command::of_key(KEYS.as_bytes()[at + 1]).is_some());
        }
    }
}
