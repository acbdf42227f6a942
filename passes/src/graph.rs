//! The dependence graph of a block: which statement must come after which posted copy.
//!
//! Nodes are the statements of one block; an edge from a post to a later statement says that it is the first that may only
//! run once the post has completed. petgraph holds it; it is a temporary view, never the storage of the IR. Later passes
//! (hazards, the planner of peer copies) extend it.

use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::EdgeRef;
use tilewright_ir::{Block, Name, OpSet, Stmt, StmtKind};

use crate::effects::{Access, Effects, effects_of};

/// Why a statement depends on a post.
#[derive(Clone, Debug, PartialEq)]
pub enum Dependence {
    /// It writes what the engine still reads, or touches what the engine still writes.
    Memory(Name),
    /// It meets other threads or agents, after which they may touch those buffers.
    Order,
    /// It is the author's `wait` of the post's token.
    Token(Name),
}

/// A node: position in the block.
pub type Position = usize;

/// The dependence graph of one block.
#[derive(Debug)]
pub struct DependenceGraph {
    graph: DiGraph<Position, Dependence>,
    nodes: Vec<NodeIndex>,
}

impl DependenceGraph {
    /// Builds the graph of a block. `posts` gives for each `Posted` statement, by position, what the posted ops read and
    /// write.
    pub fn build(block: &Block, ops: &OpSet, posts: &[(Position, Vec<Access>)]) -> DependenceGraph {
        let mut graph = DiGraph::new();
        let nodes: Vec<NodeIndex> = (0..block.len()).map(|i| graph.add_node(i)).collect();
        let effects: Vec<Effects> = block.iter().map(|s| effects_of(s, ops)).collect();
        for (at, touched) in posts {
            let token = match &block[*at].kind {
                StmtKind::Posted { token, .. } => token,
                _ => continue,
            };
            for later in at + 1..block.len() {
                if let Some(why) = depends(&block[later], &effects[later], token, touched) {
                    graph.add_edge(nodes[*at], nodes[later], why);
                    // What comes after that statement comes after the post, too.
                    break;
                }
            }
        }
        DependenceGraph { graph, nodes }
    }

    /// The first statement that depends on the post at `at`, with the reason.
    pub fn first_dependent(&self, at: Position) -> Option<(Position, &Dependence)> {
        self.graph
            .edges(self.nodes[at])
            .map(|edge| (self.graph[edge.target()], edge.weight()))
            .min_by_key(|(position, _)| *position)
    }
}

/// Does `stmt` have to wait for a post that touches `touched` under the name `token`?
fn depends(stmt: &Stmt, effects: &Effects, token: &Name, touched: &[Access]) -> Option<Dependence> {
    if matches!(&stmt.kind, StmtKind::WaitToken(t) if t == token) {
        return Some(Dependence::Token(token.clone()));
    }
    // Its own wait is the end of the matter; waits of other posts order nothing.
    if matches!(stmt.kind, StmtKind::WaitToken(_)) {
        return None;
    }
    for post in touched {
        for a in &effects.accesses {
            // Ranks are not told apart: two ranks may be equal at run time. Windows and buffers of different names never
            // alias (refused at launch).
            if a.buf == post.buf && (a.write || post.write) {
                return Some(Dependence::Memory(a.buf.clone()));
            }
        }
    }
    effects.order.then_some(Dependence::Order)
}
