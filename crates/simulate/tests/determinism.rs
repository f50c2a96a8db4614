//! Determinism: the schedule alone decides the course of a run.

use simulate::{Manner, generate, play};

#[test]
fn fifty_seeds_played_twice_make_the_same_calls_byte_for_byte() {
    simulate::panics::keep();
    let manner = Manner { tells: true, ends: true, ..Manner::default() };
    let mut calls = 0;
    for seed in 0..50 {
        let schedule = generate(seed);
        let [first, second] = [0, 1].map(|_| play(&schedule, &manner).unwrap());
        calls += first.story.iter().filter(|line| line.contains(" -> ")).count();
        for (number, (one, other)) in first.story.iter().zip(&second.story).enumerate() {
            assert_eq!(one, other, "seed {seed}, line {number}");
        }
        assert_eq!(first.story.len(), second.story.len(), "seed {seed}");
        assert_eq!(first.end, second.end, "seed {seed}");
    }
    assert!(calls > 10_000, "the stories hold calls to compare: {calls}");
}
