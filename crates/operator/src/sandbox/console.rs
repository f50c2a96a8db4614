//! Where commands come from, and what they do.

use std::io::{BufRead, IsTerminal, Read};
use std::path::Path;
use std::time::Duration;

use fakecloud::{Answer, Fault, On, Rule, RuleId};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use tokio::sync::mpsc;

use super::cluster::Cluster;
use super::command::{Command, HELP};
use super::story::Story;

/// How long `wait` waits.
const PATIENCE: Duration = Duration::from_secs(120);

/// A source of commands.
pub struct Input {
    commands: mpsc::Receiver<Result<Command, String>>,
    terminal: Option<Keys>,
}

impl Input {
    /// A script, the keys of a terminal, or the lines of standard input.
    ///
    /// # Errors
    /// If the script cannot be read.
    pub fn open(script: Option<&Path>) -> Result<Self, String> {
        let (to, commands) = mpsc::channel(16);
        if let Some(file) = script {
            let text = std::fs::read_to_string(file)
                .map_err(|error| format!("cannot read {}: {error}", file.display()))?;
            std::thread::spawn(move || {
                for (number, line) in text.lines().enumerate() {
                    let place = |error| format!("line {}: {error}", number + 1);
                    if !send(&to, Command::parse(line).map_err(place)) {
                        return;
                    }
                }
                // A script that ends is done.
                send(&to, Ok(Some(Command::Quit)));
            });
            return Ok(Self { commands, terminal: None });
        }
        let terminal = Keys::of_terminal();
        if terminal.is_some() {
            std::thread::spawn(move || {
                for key in std::io::stdin().lock().bytes().map_while(Result::ok) {
                    if !send(&to, Ok(Command::of_key(key))) {
                        return;
                    }
                }
            });
        } else {
            std::thread::spawn(move || {
                for line in std::io::stdin().lock().lines().map_while(Result::ok) {
                    if !send(&to, Command::parse(&line)) {
                        return;
                    }
                }
                send(&to, Ok(Some(Command::Quit)));
            });
        }
        Ok(Self { commands, terminal })
    }

    /// Whether single keys are read.
    pub fn has_keys(&self) -> bool {
        self.terminal.is_some()
    }
}

/// Passes a command on; false if nobody listens any more.
fn send(
    to: &mpsc::Sender<Result<Command, String>>,
    command: Result<Option<Command>, String>,
) -> bool {
    match command.transpose() {
        Some(command) => to.blocking_send(command).is_ok(),
        None => true,
    }
}

/// A terminal that passes on single keys, as it was before when dropped.
struct Keys {
    before: Termios,
}

impl Keys {
    fn of_terminal() -> Option<Self> {
        let stdin = std::io::stdin();
        if !stdin.is_terminal() {
            return None;
        }
        let before = tcgetattr(&stdin).ok()?;
        let mut raw = before.clone();
        raw.local_modes -= LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
        tcsetattr(&stdin, OptionalActions::Now, &raw).ok()?;
        Some(Self { before })
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        // A terminal that is gone needs no restoring.
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &self.before);
    }
}

/// Carries out commands.
pub struct Console {
    cluster: Cluster,
    story: Story,
    input: Input,
    failing: Option<RuleId>,
}

impl Console {
    /// A console over a cluster.
    pub fn new(cluster: Cluster, story: Story, input: Input) -> Self {
        Self { cluster, story, input, failing: None }
    }

    /// Carries out commands until one says quit.
    ///
    /// # Errors
    /// The first command that cannot be carried out, unless a person can type another.
    pub async fn run(mut self) -> Result<(), String> {
        loop {
            let command = self.input.commands.recv().await;
            let Some(command) = command else { return Ok(()) };
            let outcome = match command {
                Ok(Command::Quit) => return Ok(()),
                Ok(command) => self.carry_out(command).await,
                Err(problem) => Err(problem),
            };
            match outcome {
                Err(problem) if self.input.has_keys() => self.story.tell(&problem),
                other => other?,
            }
        }
    }

    async fn carry_out(&mut self, command: Command) -> Result<(), String> {
        match command {
            Command::Kill(node) => {
                let node = self.cluster.kill(node).await?;
                self.story.tell_now(&format!("{node} is killed"));
            }
            Command::Cordon(node) => {
                let node = self.cluster.cordon(node).await?;
                self.story.tell_now(&format!("{node} is cordoned"));
            }
            Command::Heal(node) => {
                for node in self.cluster.heal(node).await? {
                    self.story.tell_now(&format!("{node} is well"));
                }
            }
            Command::Add => {
                let node = self.cluster.add().await?;
                self.story.tell_now(&format!("{node} joins"));
            }
            Command::Fail => self.fail(),
            Command::Throttle(time) => {
                self.cluster.cloud().throttle_for(time);
                self.story.tell_now(&format!("the cloud answers 429 for {time:?}"));
            }
            Command::Status => self.story.tell(&self.cluster.status().await?),
            Command::Wait => self.wait().await?,
            Command::Help => self.story.tell(HELP),
            Command::Quit => {}
        }
        Ok(())
    }

    fn fail(&mut self) {
        let cloud = self.cluster.cloud();
        match self.failing.take() {
            Some(rule) => {
                cloud.clear(rule);
                self.story.tell_now("the cloud works again");
            }
            None => {
                let rule = Rule::new(On::any(), Fault::Answer(Answer::status(503)));
                self.failing = Some(cloud.inject(rule));
                self.story.tell_now("the cloud answers 503 to everything");
            }
        }
    }

    async fn wait(&self) -> Result<(), String> {
        let ready = async {
            loop {
                let unready = self.cluster.unready().await?;
                if unready.is_empty() {
                    return Ok(());
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        match tokio::time::timeout(PATIENCE, ready).await {
            Ok(result) => result,
            Err(_) => {
                let unready = self.cluster.unready().await?;
                Err(format!("not ready after {PATIENCE:?}: {}", unready.join(", ")))
            }
        }
    }
}
