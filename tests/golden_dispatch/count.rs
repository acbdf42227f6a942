//! What each thread does in a lowered kernel: memory instructions and their widths, by running its control flow.

use std::collections::BTreeMap;

use tilewright_ir::eval::{Value, Values, eval};
use tilewright_ir::{
    AttrValue, Block, CommField, DType, Expr, Kernel, Name, ParamTy, Place, PrimArg, PrimOp, ScalarTy, Space, Special,
    StmtKind,
};

use crate::model::WARP;

/// The figures by which two ways to carry a copy are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Work {
    /// Memory instructions of the busiest thread; between registers, its moves.
    pub(crate) instructions: i64,
    /// Bits that the narrowest of them moves for a thread.
    pub(crate) width: i64,
    /// Threads that execute at least one.
    pub(crate) active: i64,
}

impl Work {
    /// No worse in each figure and better in one?
    pub(crate) fn is_better_than(&self, other: &Work) -> bool {
        let no_worse =
            self.instructions <= other.instructions && self.width >= other.width && self.active >= other.active;
        no_worse && self != other
    }
}

/// Counts the work of the only CTA of a lowered kernel.
///
/// # Errors
/// A sentence, if control flow depends on memory.
pub(crate) fn count(kernel: &Kernel) -> Result<Work, String> {
    let threads = i64::from(kernel.launch.threads().ok_or("no launch")?);
    let mut work = Work { instructions: 0, width: i64::MAX, active: 0 };
    for id in 0..threads {
        let mut thread = Thread { id, names: Vec::new(), buffers: BTreeMap::new(), instructions: 0, width: i64::MAX };
        for p in &kernel.params {
            if let ParamTy::Buffer(ty) = &p.ty {
                thread.buffers.insert(p.name.clone(), (ty.space, ty.dtype));
            }
        }
        thread.block(&kernel.body)?;
        work.instructions = work.instructions.max(thread.instructions);
        work.width = work.width.min(thread.width);
        work.active += i64::from(thread.instructions > 0);
    }
    Ok(work)
}

struct Thread {
    id: i64,
    names: Vec<(Name, Option<Value>)>,
    buffers: BTreeMap<Name, (Space, DType)>,
    instructions: i64,
    width: i64,
}

impl Values for Thread {
    fn var(&self, name: &Name) -> Option<Value> {
        self.names.iter().rev().find(|(n, _)| n == name).and_then(|(_, v)| *v)
    }

    fn special(&self, special: Special) -> Option<i64> {
        Some(match special {
            Special::Thread(0) | Special::ThreadLinear => self.id,
            Special::Thread(_) | Special::Block(_) | Special::Me => 0,
            Special::Lane => self.id % WARP,
            Special::Warp => self.id / WARP,
            Special::Grid(_) => 1,
        })
    }

    fn comm(&self, _: CommField) -> Option<i64> {
        None
    }
}

impl Thread {
    fn int(&self, e: &Expr) -> Result<i64, String> {
        let value = eval(e, self).map_err(|e| e.to_string())?;
        value.as_i64().ok_or_else(|| "a float decides".to_owned())
    }

    fn access(&mut self, place: &Place, elements: i64) {
        let Some((space, dtype)) = self.buffers.get(&place.buf) else { return };
        if *space != Space::Local {
            let width = elements * i64::from(dtype.bits());
            self.executes(width);
        }
    }

    fn executes(&mut self, width: i64) {
        self.instructions += 1;
        self.width = self.width.min(width);
    }

    fn is_local(&self, place: &Place) -> bool {
        self.buffers.get(&place.buf).is_some_and(|(space, _)| *space == Space::Local)
    }

    fn block(&mut self, block: &Block) -> Result<(), String> {
        let depth = self.names.len();
        for stmt in block {
            self.stmt(&stmt.kind)?;
        }
        self.names.truncate(depth);
        Ok(())
    }

    fn stmt(&mut self, stmt: &StmtKind) -> Result<(), String> {
        match stmt {
            StmtKind::Let { name, ty, value } => {
                let value = eval(value, self).ok().map(|v| ty.map_or(v, |ty: ScalarTy| v.cast(ty)));
                self.names.push((name.clone(), value));
            }
            StmtKind::Load { name, from } => {
                self.access(from, 1);
                self.names.push((name.clone(), None));
            }
            StmtKind::Store { to, .. } => self.access(to, 1),
            StmtKind::Alloc(a) => {
                self.buffers.insert(a.name.clone(), (a.space, a.dtype));
            }
            StmtKind::For { var, lo, hi, body, .. } => {
                for i in self.int(lo)?..self.int(hi)? {
                    self.names.push((var.clone(), Some(Value::index(i))));
                    self.block(body)?;
                    self.names.pop();
                }
            }
            StmtKind::If { cond, then, els } => match (self.int(cond)?, els) {
                (0, Some(els)) => self.block(els)?,
                (0, None) => {}
                _ => self.block(then)?,
            },
            StmtKind::Prim(op) => self.prim(op)?,
            _ => {}
        }
        Ok(())
    }

    fn prim(&mut self, op: &PrimOp) -> Result<(), String> {
        let attr = |name: &str| {
            op.attrs.iter().find(|(n, _)| n == name).and_then(|(_, v)| match v {
                AttrValue::Int(v) => Some(*v),
                _ => None,
            })
        };
        let places = op.args.iter().filter_map(|a| match a {
            PrimArg::Place(p) => Some(p),
            PrimArg::Expr(_) => None,
        });
        match op.op.as_str() {
            "vec.copy" => {
                let n = attr("n").ok_or("vec.copy without n")?;
                let places: Vec<&Place> = places.collect();
                if places.iter().all(|p| self.is_local(p)) {
                    let bits = places.first().and_then(|p| self.buffers.get(&p.buf)).map_or(0, |(_, d)| d.bits());
                    self.executes(n * i64::from(bits));
                }
                places.iter().for_each(|p| self.access(p, n));
            }
            "nv.ldmatrix" | "nv.stmatrix" => {
                self.executes(32 * attr("num").ok_or("no num")?);
            }
            _ if places.count() == 0 => {}
            other => return Err(format!("`{other}` is not counted")),
        }
        Ok(())
    }
}
