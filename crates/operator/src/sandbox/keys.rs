//! Single keys of a terminal.

use std::fs::File;
use std::io::IsTerminal;
use std::os::fd::{AsFd, OwnedFd};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// A terminal in raw mode. Dropping it restores the mode.
pub struct Terminal {
    file: OwnedFd,
    before: Termios,
}

impl Terminal {
    /// Standard input, or the controlling terminal if standard input is in use; `None` without a
    /// terminal.
    pub fn open(stdin_is_taken: bool) -> Option<Self> {
        let file = if stdin_is_taken {
            File::open("/dev/tty").ok()?.into()
        } else {
            let stdin = std::io::stdin();
            if !stdin.is_terminal() {
                return None;
            }
            stdin.as_fd().try_clone_to_owned().ok()?
        };
        let before = tcgetattr(&file).ok()?;
        let mut raw = before.clone();
        raw.local_modes -= LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
        tcsetattr(&file, OptionalActions::Now, &raw).ok()?;
        Some(Self { file, before })
    }

    /// A reader for the keys.
    pub fn reader(&self) -> Option<File> {
        self.file.try_clone().ok().map(File::from)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Restoring fails only if the terminal is gone.
        let _ = tcsetattr(&self.file, OptionalActions::Now, &self.before);
    }
}

/// Separates plain keys from escape sequences.
#[derive(Debug, Default)]
pub struct Parser(State);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Plain,
    /// After ESC.
    Escape,
    /// After `ESC [`: parameters, then a final byte.
    Sequence,
    /// After `ESC O`: a single byte.
    Single,
}

impl Parser {
    /// The plain keys among the bytes of a read.
    pub fn read(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut keys = Vec::new();
        for byte in bytes {
            self.0 = match (self.0, byte) {
                (_, 0x1b) => State::Escape,
                (State::Escape, b'[') => State::Sequence,
                (State::Escape, b'O') => State::Single,
                (State::Sequence, 0x20..=0x3f) => State::Sequence,
                (State::Plain, key) => {
                    keys.push(*key);
                    State::Plain
                }
                // A key pressed together with Alt, or the end of a sequence.
                (State::Escape | State::Sequence | State::Single, _) => State::Plain,
            };
        }
        // A sequence arrives in a single read, so this was the Esc key.
        if self.0 == State::Escape {
            self.0 = State::Plain;
        }
        keys
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_send_a_sequence_do_nothing() {
        let mut parser = Parser::default();
        let sequences = ["\x1b[A", "\x1b[C", "\x1bOP", "\x1b[1;5C", "\x1b[15~", "\x1bk", "\x1b"];
        for sequence in sequences {
            assert_eq!(parser.read(sequence.as_bytes()), b"", "{sequence:?}");
        }
        assert_eq!(parser.read(b"k\x1b[Ac"), b"kc");
        assert_eq!(parser.read(b"\x1b[1;"), b"");
        assert_eq!(parser.read(b"5Ca"), b"a");
    }
}
