//! Commands of the sandbox: typed as words, or as single keys.

use std::time::Duration;

use super::scene::Scene;

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
    /// Creates a Cluster.
    Create(Option<String>),
    /// Deletes a Cluster, perhaps in the foreground.
    Delete(Option<String>, bool),
    /// Takes every free address of a VIP pool, or gives back what was taken.
    Fill(Option<String>),
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

/// The help text of the scene with Clusters.
pub const VIP_HELP: &str = "\
create [cluster]   one more Cluster
delete [cluster]   a Cluster is deleted (without a name: the oldest one); with a second word,
                   foreground, in the foreground
fill [pool]        somebody takes every free address (without a name: of all VIP pools for control
                   planes), or gives back what was taken
crash              the operator is killed and started anew
freeze             the leader is stopped until another replica has taken over
status             Clusters with their VIPs, VIP pools
wait [60s]         until every Cluster has its VIPs, and deleted ones are gone
quit               end";

/// The keys of the scene with Clusters, on a line.
pub const VIP_KEYS: &str = "[c]reate a Cluster  [d]elete one  [f]ill the VIP pools  \
                            crash [x] the operator  free[z]e it  [s]tatus  [?] help  [q]uit";

/// The word for a deletion in the foreground.
const FOREGROUND: &str = "foreground";

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
    /// In words, if the line is not a command of the scene.
    pub fn parse(line: &str, scene: Scene) -> Result<Option<Self>, String> {
        let line = line.split('#').next().unwrap_or_default();
        let mut words = line.split_whitespace();
        let Some(verb) = words.next() else { return Ok(None) };
        let arguments: Vec<_> = words.collect();
        let most = if ["move", "delete"].contains(&verb) { 2 } else { 1 };
        if arguments.len() > most {
            return Err(format!("\"{}\": one word too many\n{}", line.trim(), scene.help()));
        }
        let own = match scene {
            Scene::Management => Self::of_clusters(verb, &arguments),
            Scene::Ingress | Scene::Workload => Self::of_nodes(verb, &arguments),
        };
        match own.or_else(|| Self::of_every_scene(verb, &arguments)) {
            Some(command) => command.map(Some),
            None => Err(format!("\"{verb}\" is not a command; there are\n{}", scene.help())),
        }
    }

    /// A command of the scenes with nodes.
    fn of_nodes(verb: &str, arguments: &[&str]) -> Option<Result<Self, String>> {
        let word = |index: usize| arguments.get(index).map(|word| (*word).to_owned());
        Some(Ok(match verb {
            "kill" => Self::Kill(word(0)),
            "cordon" => Self::Cordon(word(0)),
            "drain" => Self::Drain(word(0)),
            "heal" => Self::Heal(word(0)),
            "throttle" => return Some(span(word(0), THROTTLE).map(Self::Throttle)),
            "move" => Self::Move(word(0), word(1)),
            "add" => return Some(plain(verb, arguments, Self::Add)),
            "fail" => return Some(plain(verb, arguments, Self::Fail)),
            _ => return None,
        }))
    }

    /// A command of the scene with Clusters.
    fn of_clusters(verb: &str, arguments: &[&str]) -> Option<Result<Self, String>> {
        let word = |index: usize| arguments.get(index).map(|word| (*word).to_owned());
        Some(match verb {
            "create" => Ok(Self::Create(word(0))),
            "delete" => match arguments {
                [name, FOREGROUND] => Ok(Self::Delete(Some((*name).to_owned()), true)),
                [_, other] => Err(format!("\"delete\" takes no \"{other}\"")),
                _ => Ok(Self::Delete(word(0), false)),
            },
            "fill" => Ok(Self::Fill(word(0))),
            _ => return None,
        })
    }

    fn of_every_scene(verb: &str, arguments: &[&str]) -> Option<Result<Self, String>> {
        let simple = match verb {
            "wait" => {
                let time = arguments.first().map(|word| (*word).to_owned());
                return Some(span(time, PATIENCE).map(Self::Wait));
            }
            "crash" => Self::Crash,
            "freeze" => Self::Freeze,
            "status" => Self::Status,
            "help" => Self::Help,
            "quit" | "exit" => Self::Quit,
            _ => return None,
        };
        Some(plain(verb, arguments, simple))
    }

    /// Reads a key.
    pub fn of_key(key: u8, scene: Scene) -> Option<Self> {
        let key = key.to_ascii_lowercase();
        Some(match (key, scene) {
            (b'c', Scene::Management) => Self::Create(None),
            (b'd', Scene::Management) => Self::Delete(None, false),
            (b'f', Scene::Management) => Self::Fill(None),
            (b'x' | b'z' | b's' | b'?' | b'q' | 3 | 4, _)
            | (_, Scene::Ingress | Scene::Workload) => {
                return Self::of_usual_key(key);
            }
            _ => return None,
        })
    }

    fn of_usual_key(key: u8) -> Option<Self> {
        Some(match key {
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

fn span(text: Option<String>, usual: Duration) -> Result<Duration, String> {
    text.map_or(Ok(usual), |text| crate::args::duration(&text))
}

/// A command without arguments.
fn plain(verb: &str, arguments: &[&str], command: Command) -> Result<Command, String> {
    match arguments.first() {
        None => Ok(command),
        Some(extra) => Err(format!("\"{verb}\" takes no \"{extra}\"")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_with_their_comments_left_out() {
        let parse = |line: &str| Command::parse(line, Scene::Ingress).unwrap();
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
    fn each_scene_has_its_commands() {
        let parse = |line: &str| Command::parse(line, Scene::Management);
        let name = || Some("a".to_owned());
        assert_eq!(parse("create"), Ok(Some(Command::Create(None))));
        assert_eq!(parse("delete a"), Ok(Some(Command::Delete(name(), false))));
        assert_eq!(parse("delete a foreground"), Ok(Some(Command::Delete(name(), true))));
        assert!(parse("delete a b").unwrap_err().contains("takes no"));
        assert!(parse("kill node-1").unwrap_err().contains("create [cluster]"));
        assert_eq!(parse("status"), Ok(Some(Command::Status)));
        assert!(Command::parse("fill", Scene::Workload).unwrap_err().contains("cordon [node]"));
    }

    #[test]
    fn a_line_that_is_no_command_says_which_there_are() {
        let problem = |line: &str| Command::parse(line, Scene::Ingress).unwrap_err();
        assert!(problem("explode").contains("cordon [node]"));
        assert!(problem("add two").contains("takes no"));
        assert!(problem("kill a b").contains("too many"));
    }

    #[test]
    fn every_key_of_the_legend_does_something() {
        for scene in [Scene::Ingress, Scene::Workload, Scene::Management] {
            let legend = scene.keys();
            for (at, _) in legend.match_indices('[') {
                assert!(Command::of_key(legend.as_bytes()[at + 1], scene).is_some(), "{legend}");
            }
        }
        assert_eq!(Command::of_key(b'k', Scene::Management), None);
    }
}
