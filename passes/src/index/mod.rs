//! `simplify-index`: divisions, remainders, shifts, masks and products of addresses by equality saturation.
//!
//! What earlier passes write for an address is right in general; here ranges and divisors of its leaves decide what of it
//! is needed. Each expression of type `index` gets an e-graph, `rules` grow it within fixed limits of rounds and nodes,
//! and the cheapest form by `cost` is taken if it is cheaper than what was there. Nothing depends on time or chance.
//!
//! Must hold: the value of every expression stays the same for all values of its leaves that [`Facts`] allows, wrapping
//! included; types stay the same; without a division, shift or mask nothing is looked at.

mod cost;
mod lang;
mod rules;
mod sums;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use egg::{Extractor, Id, Language, RecExpr};
use tilewright_ir::diag::Diagnostic;
use tilewright_ir::env::Env;
use tilewright_ir::facts::Facts;
use tilewright_ir::types::type_of;
use tilewright_ir::{
    BinOp, Block, Dim, Expr, ExprKind, Place, PlaceIndex, PrimArg, ScalarTy, Span, Stmt, StmtKind, UnOp,
};
use tilewright_target::Vendor;

use self::cost::{Costs, INSTRUCTION, IndexCost};
use self::lang::{Graph, Known, LeafId, Leaves, Node, pow2_part};
use self::rules::{At, RULES, Rule};
use crate::pipeline::{PassCx, State};
use crate::select::engine::learn;
use crate::select::view::Context;

/// Rounds of rewriting; the longest chain of rules that the tests need takes four.
const MAX_ROUNDS: usize = 6;

/// Nodes above which no further round is begun.
const MAX_NODES: usize = 160;

/// Nodes of an expression above which it is left as it is: no address of ours is longer.
const MAX_EXPR: usize = 64;

/// Runs the pass.
pub(crate) fn run(state: &mut State, cx: &PassCx) -> Result<(), Vec<Diagnostic>> {
    for kernel in state.module.kernels_mut() {
        if !is_worth_it(&kernel.body) {
            continue;
        }
        let warp = kernel.launch.warp.lanes(cx.target.warp_size);
        let context = Context::for_kernel(kernel, warp, Vec::new());
        let mut pass = Indexer { vendor: cx.target.vendor, memo: BTreeMap::new() };
        pass.block(&mut kernel.body, context);
    }
    Ok(())
}

/// The least expensive form of an expression, on a vendor's GPUs; `None` if that is the one given.
///
/// The expression's names are looked up in `env`, and `facts` says what is known of them. Only expressions of type
/// `index` are changed, and the result has this type.
pub fn simplify(e: &Expr, env: &Env, facts: &Facts, vendor: Vendor) -> Option<Expr> {
    Indexer { vendor, memo: BTreeMap::new() }.whole(e, env, facts)
}

/// Operators that make an expression worth a graph.
fn is_costly(op: BinOp) -> bool {
    use BinOp::{And, Div, Or, Rem, Shl, Shr, Xor};
    matches!(op, Div | Rem | And | Or | Xor | Shl | Shr)
}

fn has_costly(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Binary(op, a, b) => is_costly(*op) || has_costly(a) || has_costly(b),
        ExprKind::Unary(_, a) | ExprKind::Cast(_, a) => has_costly(a),
        ExprKind::Select(a, b, c) => has_costly(a) || has_costly(b) || has_costly(c),
        _ => false,
    }
}

fn is_worth_it(block: &Block) -> bool {
    block.iter().any(|stmt| {
        let mut found = false;
        crate::effects::for_each_expr(stmt, &mut |e| found |= has_costly(e));
        found || stmt.blocks().into_iter().any(is_worth_it)
    })
}

/// What an expression is to the rules: its shape over numbered leaves, and what is known of these.
type Key = (RecExpr<Node>, Vec<Known>);

struct Indexer {
    vendor: Vendor,
    /// Results so far; `None` where nothing is better.
    memo: BTreeMap<Key, Option<RecExpr<Node>>>,
}

impl Indexer {
    fn block(&mut self, block: &mut Block, mut at: Context) {
        at.env.enter();
        for stmt in block {
            self.stmt(stmt, &at);
            learn(stmt, &mut at);
        }
    }

    fn stmt(&mut self, stmt: &mut Stmt, at: &Context) {
        let span = stmt.span;
        match &mut stmt.kind {
            StmtKind::Let { value, .. } => self.expr(value, at),
            StmtKind::For { var, lo, hi, body, .. } => {
                self.expr(lo, at);
                self.expr(hi, at);
                if is_worth_it(body) {
                    let mut inner = at.clone();
                    inner.env.enter();
                    inner.env.bind_loop(var, lo, hi, span);
                    inner.facts.loop_var(var, lo, hi);
                    self.block(body, inner);
                }
            }
            StmtKind::If { cond, then, els } => {
                self.expr(cond, at);
                if is_worth_it(then) {
                    let mut inner = at.clone();
                    inner.facts.assume(cond);
                    self.block(then, inner);
                }
                if let Some(els) = els.as_mut().filter(|els| is_worth_it(els)) {
                    let mut inner = at.clone();
                    inner.facts.assume_not(cond);
                    self.block(els, inner);
                }
            }
            StmtKind::Load { from, .. } => self.place(from, at),
            StmtKind::Store { to, value } => {
                self.place(to, at);
                self.expr(value, at);
            }
            StmtKind::Prim(op) => {
                for arg in &mut op.args {
                    match arg {
                        PrimArg::Expr(e) => self.expr(e, at),
                        PrimArg::Place(p) => self.place(p, at),
                    }
                }
            }
            // What an `assume` says is read by form; it costs nothing.
            _ => {}
        }
    }

    fn place(&mut self, place: &mut Place, at: &Context) {
        if let PlaceIndex::Flat(e) = &mut place.index {
            self.expr(e, at);
        }
    }

    fn expr(&mut self, e: &mut Expr, at: &Context) {
        if has_costly(e)
            && let Some(better) = self.whole(e, &at.env, &at.facts)
        {
            *e = better;
        }
    }

    /// The expression with every part of type `index` in its best form; `None` if nothing changes.
    fn whole(&mut self, e: &Expr, env: &Env, facts: &Facts) -> Option<Expr> {
        let mut reader = Reader { env, facts, nodes: RecExpr::default(), leaves: Vec::new(), known: Vec::new() };
        if reader.is_structural(e) {
            let mut size = 0;
            e.walk(&mut |_| size += 1);
            if size > MAX_EXPR {
                return None;
            }
            reader.read(e);
            let mut changed = false;
            let mut leaves = reader.leaves;
            for leaf in leaves.iter_mut().filter(|leaf| has_costly(leaf)) {
                if let Some(better) = self.inside(leaf, env, facts) {
                    (*leaf, changed) = (better, true);
                }
            }
            let best = self.best((reader.nodes.clone(), reader.known));
            if best.is_none() && !changed {
                return None;
            }
            return Some(write(best.as_ref().unwrap_or(&reader.nodes), &leaves, e.span));
        }
        self.inside(e, env, facts)
    }

    /// The same for the operands of an expression that is no arithmetic itself.
    fn inside(&mut self, e: &Expr, env: &Env, facts: &Facts) -> Option<Expr> {
        let mut changed = false;
        // A literal takes the type of its neighbour: beside another type than `index` it may not replace an index.
        let mixed = match &e.kind {
            ExprKind::Binary(_, a, b) | ExprKind::Select(_, a, b) => {
                [a, b].iter().any(|side| !matches!(type_of(side, env), Ok(ScalarTy::Index)))
            }
            _ => false,
        };
        let mut part = |part: &Expr| {
            let better = if has_costly(part) { self.whole(part, env, facts) } else { None };
            let better = better.filter(|e| !mixed || e.as_int().is_none());
            changed |= better.is_some();
            Box::new(better.unwrap_or_else(|| part.clone()))
        };
        let kind = match &e.kind {
            ExprKind::Unary(op, a) => ExprKind::Unary(*op, part(a)),
            ExprKind::Cast(ty, a) => ExprKind::Cast(*ty, part(a)),
            ExprKind::Binary(op, a, b) => ExprKind::Binary(*op, part(a), part(b)),
            ExprKind::Select(c, a, b) => ExprKind::Select(part(c), part(a), part(b)),
            leaf => leaf.clone(),
        };
        changed.then_some(Expr { kind, span: e.span })
    }

    fn best(&mut self, key: Key) -> Option<RecExpr<Node>> {
        if let Some(known) = self.memo.get(&key) {
            return known.clone();
        }
        let result = best_form(&key.0, &key.1, self.vendor, RULES);
        self.memo.insert(key, result.clone());
        result
    }
}

/// Saturates and extracts; `None` if the expression given is as good.
fn best_form(expr: &RecExpr<Node>, known: &[Known], vendor: Vendor, rules: &[Rule]) -> Option<RecExpr<Node>> {
    let mut graph = Graph::new(Leaves(known.to_vec()));
    let root = graph.add_expr(expr);
    graph.rebuild();
    saturate(&mut graph, rules);
    let cost = IndexCost { costs: Costs::of(vendor), graph: &graph };
    // Before: the tree as it was written, priced with what is now known of its classes.
    let before = price(expr, &graph, &cost);
    let (after, best) = Extractor::new(&graph, cost).find_best(root);
    // Only for whole instructions: another form of the same cost would change the text for nothing.
    (after / INSTRUCTION < before / INSTRUCTION).then_some(best)
}

/// Applies the rules until nothing changes or a limit is reached.
fn saturate(graph: &mut Graph, rules: &[Rule]) {
    for _ in 0..MAX_ROUNDS {
        let mut equal = Vec::new();
        let mut out = Vec::new();
        for class in graph.classes() {
            for (op, [a, b]) in class.nodes.iter().filter_map(Node::parts) {
                let at = At { class: class.id, op, a: graph.find(a), b: graph.find(b) };
                rules.iter().for_each(|rule| (rule.apply)(graph, at, &mut out));
                equal.extend(out.drain(..).map(|term| (class.id, term)));
            }
        }
        let mut changed = false;
        for (class, term) in equal {
            if let Some(id) = term.add_to(graph) {
                changed |= graph.union(class, id);
            }
            if graph.total_size() > MAX_NODES {
                break;
            }
        }
        graph.rebuild();
        if !changed || graph.total_size() > MAX_NODES {
            return;
        }
    }
}

/// Cost of an expression as written, given what is now known of its classes.
fn price(expr: &RecExpr<Node>, graph: &Graph, cost: &IndexCost) -> u64 {
    let (mut costs, mut known): (Vec<u64>, Vec<Known>) = (Vec::new(), Vec::new());
    let mut classes: Vec<Id> = Vec::new();
    for node in expr {
        let class = graph.lookup(node.clone().map_children(|id| classes[usize::from(id)]));
        costs.push(match node.parts() {
            None => 1,
            Some((op, [a, b])) => {
                let (a, b) = (usize::from(a), usize::from(b));
                cost.own(op, known[a], known[b]).saturating_add(costs[a]).saturating_add(costs[b])
            }
        });
        known.push(class.map_or(Known::ANY, |class| graph[class].data));
        classes.push(class.unwrap_or_else(|| Id::from(0)));
    }
    costs.last().copied().unwrap_or(0)
}

/// Reads an expression into nodes and leaves.
struct Reader<'a> {
    env: &'a Env,
    facts: &'a Facts,
    nodes: RecExpr<Node>,
    leaves: Vec<Expr>,
    known: Vec<Known>,
}

impl Reader<'_> {
    /// Is the node arithmetic on `index` values?
    fn is_structural(&self, e: &Expr) -> bool {
        let arithmetic = match &e.kind {
            ExprKind::Unary(UnOp::Neg, _) => true,
            ExprKind::Binary(op, ..) => Node::binary(*op, [Id::from(0); 2]).is_some(),
            _ => false,
        };
        arithmetic && self.is_index(e)
    }

    fn is_index(&self, e: &Expr) -> bool {
        matches!(type_of(e, self.env), Ok(ScalarTy::Index))
    }

    fn read(&mut self, e: &Expr) -> Id {
        if let Some(v) = e.as_int() {
            return self.nodes.add(Node::Int(v));
        }
        if self.is_structural(e) {
            match &e.kind {
                ExprKind::Unary(_, a) => {
                    let (zero, a) = (self.nodes.add(Node::Int(0)), self.read(a));
                    return self.nodes.add(Node::Sub([zero, a]));
                }
                ExprKind::Binary(op, a, b) => {
                    let args = [self.read(a), self.read(b)];
                    if let Some(node) = Node::binary(*op, args) {
                        return self.nodes.add(node);
                    }
                }
                _ => {}
            }
        }
        self.leaf(e)
    }

    fn leaf(&mut self, e: &Expr) -> Id {
        // Alone, a value of another type would take its neighbours into that type.
        let leaf = if self.is_index(e) {
            e.clone()
        } else {
            Expr { kind: ExprKind::Cast(ScalarTy::Index, Box::new(e.clone())), span: e.span }
        };
        let number = self.leaves.iter().position(|known| *known == leaf).unwrap_or_else(|| {
            let dim = Dim::from_expr(e);
            let (lo, hi) = self.facts.range(&dim);
            let step = self.facts.multiple_of(&dim).max(0);
            // Facts speak of mathematical integers. Unbounded values may have wrapped: powers of two still divide them.
            let step = if lo.is_some() && hi.is_some() { step } else { pow2_part(step) };
            let (lo, hi) = (lo.unwrap_or(i64::MIN), hi.unwrap_or(i64::MAX));
            self.known.push(if lo <= hi { Known { lo, hi, step } } else { Known::ANY });
            self.leaves.push(leaf);
            self.leaves.len() - 1
        });
        self.nodes.add(Node::Leaf(LeafId(u32::try_from(number).unwrap_or(u32::MAX))))
    }
}

/// Writes nodes as an expression.
fn write(nodes: &RecExpr<Node>, leaves: &[Expr], span: Span) -> Expr {
    let mut done: Vec<Expr> = Vec::with_capacity(nodes.as_ref().len());
    for node in nodes {
        let kind = match (node, node.parts()) {
            (Node::Int(v), _) => ExprKind::Int(*v),
            (Node::Leaf(LeafId(n)), _) => leaves[*n as usize].kind.clone(),
            (Node::Sub([a, b]), _) if done[usize::from(*a)].as_int() == Some(0) => {
                ExprKind::Unary(UnOp::Neg, Box::new(done[usize::from(*b)].clone()))
            }
            (_, Some((op, args))) => {
                let [a, b] = args.map(|id| Box::new(done[usize::from(id)].clone()));
                ExprKind::Binary(op, a, b)
            }
            // Nodes without operands are the two above.
            (_, None) => ExprKind::Int(0),
        };
        done.push(Expr { kind, span });
    }
    done.pop().unwrap_or_else(|| Expr::int(0))
}
