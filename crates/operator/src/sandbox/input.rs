//! Sources of commands: a script, keys, or lines.

use std::io::{BufRead, Read};
use std::path::Path;

use tokio::sync::mpsc;

use super::command::Command;
use super::keys::{Parser, Terminal};
use super::scene::Scene;

/// A source of commands.
pub struct Input {
    commands: mpsc::Receiver<Result<Command, String>>,
    terminal: Option<Terminal>,
}

type To = mpsc::Sender<Result<Command, String>>;

impl Input {
    /// A script, the keys of a terminal, or the lines of standard input. If standard input holds
    /// manifests and there is no terminal, no command ever arrives.
    ///
    /// # Errors
    /// If the script cannot be read.
    pub fn open(script: Option<&Path>, stdin_is_taken: bool, scene: Scene) -> Result<Self, String> {
        let (to, commands) = mpsc::channel(16);
        if let Some(file) = script {
            let text = std::fs::read_to_string(file)
                .map_err(|error| format!("cannot read {}: {error}", file.display()))?;
            std::thread::spawn(move || {
                for (number, line) in text.lines().enumerate() {
                    let place = |error| format!("line {}: {error}", number + 1);
                    if !send(&to, Command::parse(line, scene).map_err(place)) {
                        return;
                    }
                }
                // The end of a script ends the sandbox.
                send(&to, Ok(Some(Command::Quit)));
            });
            return Ok(Self { commands, terminal: None });
        }
        let terminal = Terminal::open(stdin_is_taken);
        match terminal.as_ref().and_then(Terminal::reader) {
            Some(keys) => drop(std::thread::spawn(move || read_keys(keys, scene, &to))),
            None if stdin_is_taken => drop(std::thread::spawn(move || {
                // Waits until a signal ends the sandbox.
                loop {
                    std::thread::park();
                    if to.is_closed() {
                        return;
                    }
                }
            })),
            None => drop(std::thread::spawn(move || read_lines(scene, &to))),
        }
        Ok(Self { commands, terminal })
    }

    /// The next command.
    pub async fn next(&mut self) -> Option<Result<Command, String>> {
        self.commands.recv().await
    }

    /// Whether single keys are read.
    pub fn has_keys(&self) -> bool {
        self.terminal.is_some()
    }
}

fn read_keys(mut keys: impl Read, scene: Scene, to: &To) {
    let (mut parser, mut bytes) = (Parser::default(), [0; 64]);
    while let Ok(count @ 1..) = keys.read(&mut bytes) {
        for key in parser.read(&bytes[..count]) {
            if !send(to, Ok(Command::of_key(key, scene))) {
                return;
            }
        }
    }
}

fn read_lines(scene: Scene, to: &To) {
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        if !send(to, Command::parse(&line, scene)) {
            return;
        }
    }
    send(to, Ok(Some(Command::Quit)));
}

/// Passes a command on; false if the receiver is gone.
fn send(to: &To, command: Result<Option<Command>, String>) -> bool {
    match command.transpose() {
        Some(command) => to.blocking_send(command).is_ok(),
        None => true,
    }
}
