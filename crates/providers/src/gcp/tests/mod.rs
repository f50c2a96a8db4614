//! The contract over the emulator, and answers outside the emulator's repertoire.
