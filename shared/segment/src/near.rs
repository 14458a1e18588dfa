//! Terms that are few edits away from a word.

use std::sync::LazyLock;

use fst::raw::{Fst, Node, Output};
use levenshtein_automata::{DFA, Distance, LevenshteinAutomatonBuilder, SINK_STATE};

/// Automata by edits; to make one takes longer than a search with it.
static ONE_EDIT: LazyLock<LevenshteinAutomatonBuilder> = LazyLock::new(|| LevenshteinAutomatonBuilder::new(1, true));
static TWO_EDITS: LazyLock<LevenshteinAutomatonBuilder> = LazyLock::new(|| LevenshteinAutomatonBuilder::new(2, true));

/// The terms at most `edits` edits away from `term`, in order, each with its value and its edits; those with two edits begin
/// with the same character.
pub(crate) fn near<D: AsRef<[u8]>>(fst: &Fst<D>, term: &str, edits: u8) -> Vec<(String, u32, u8)> {
    let mut walk = Walk { fst, automaton: &ONE_EDIT.build_dfa(term), least: 0, key: Vec::new(), found: Vec::new() };
    walk.below("");
    let mut found = walk.found;
    if edits > 1 {
        // Below one character there is little to look at.
        let first = term.chars().next().map_or(0, char::len_utf8);
        let automaton = &TWO_EDITS.build_dfa(term);
        let mut walk = Walk { fst, automaton, least: 2, key: Vec::new(), found };
        walk.below(term.get(..first).unwrap_or_default());
        found = walk.found;
        found.sort_unstable();
    }
    found
}

/// A walk over the terms that an automaton accepts. Not fst's own streams: they look at each node that the automaton leaves, which are
/// nearly all; nor fst's own automaton, which misses edits between characters with the same first bytes.
struct Walk<'a, D> {
    fst: &'a Fst<D>,
    automaton: &'a DFA,
    /// The least edits of interest.
    least: u8,
    key: Vec<u8>,
    found: Vec<(String, u32, u8)>,
}

impl<D: AsRef<[u8]>> Walk<'_, D> {
    /// Adds the terms that begin with `prefix`.
    fn below(&mut self, prefix: &str) {
        let (mut node, mut state, mut output) = (self.fst.root(), self.automaton.initial_state(), Output::zero());
        for byte in prefix.bytes() {
            let Some(at) = node.find_input(byte) else { return };
            let transition = node.transition(at);
            state = self.automaton.transition(state, byte);
            output = output.cat(transition.out);
            node = self.fst.node(transition.addr);
        }
        self.key.extend_from_slice(prefix.as_bytes());
        self.node(node, state, output);
    }

    /// Adds the terms below a node. The automaton leaves each that is much longer than its word, so that this is never deep.
    fn node(&mut self, node: Node<'_>, state: u32, output: Output) {
        if node.is_final()
            && let Distance::Exact(edits) = self.automaton.distance(state)
            && edits >= self.least
        {
            let ordinal = output.cat(node.final_output()).value() as u32;
            self.found.push((String::from_utf8_lossy(&self.key).into_owned(), ordinal, edits));
        }
        for at in 0..node.len() {
            let transition = node.transition(at);
            let next = self.automaton.transition(state, transition.inp);
            if next != SINK_STATE {
                self.key.push(transition.inp);
                self.node(self.fst.node(transition.addr), next, output.cat(transition.out));
                self.key.pop();
            }
        }
    }
}
