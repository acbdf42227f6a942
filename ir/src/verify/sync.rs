//! Barriers, signals, waits for signals. Rules:
//! - `sync` is for groups (cta, warpgroup, warp) and reached by whole groups;
//! - a signal is declared in the kernel's outermost block, and the kernel has a communicator;
//! - `wait s from r` names a signal; `r` is an `lsa_rank`, one value in the group that waits; the group is a thread, a warp or
//!   the cta and comes whole; `expected` is an integer.

use super::Checker;
use crate::diag::{Code, Diagnostic};
use crate::env::Entity;
use crate::expr::Expr;
use crate::name::Name;
use crate::space::Scope;
use crate::span::Span;
use crate::types::{expect_integral, expect_lsa_rank, literal_int};

impl Checker<'_> {
    pub(super) fn sync(&mut self, scope: Scope, span: Span) {
        if scope == Scope::Thread {
            let d = Diagnostic::error(Code::SCOPE_NEEDS_THREADS, span, "`sync thread` has nothing to wait for");
            return self.report(d.help("write `sync warp`, `sync warpgroup` or `sync cta`"));
        }
        self.whole_groups("barrier", scope, span);
    }

    pub(super) fn signal(&mut self, name: &Name, span: Span) {
        if self.depth != 1 {
            let message = format!("signal `{name}` is declared inside a block");
            let d = Diagnostic::error(Code::SIGNAL_USE, span, message);
            self.report(d.help("a signal has one queue for the whole kernel; declare it at the start of the body"));
        }
        if self.env.devcomm().is_none() {
            let message = format!("signal `{name}` needs a communicator");
            let d = Diagnostic::error(Code::SIGNAL_USE, span, message);
            self.report(d.help("give the kernel a parameter `comm: devcomm`"));
        }
    }

    pub(super) fn wait_signal(
        &mut self,
        signal: &Name,
        from: &Expr,
        scope: Scope,
        expected: Option<&Expr>,
        span: Span,
    ) {
        match self.entity(signal, span) {
            Some(Entity::Signal { .. }) | None => {}
            Some(Entity::Token) => {
                let message = format!("`{signal}` is a token; it comes from no rank");
                self.report(Diagnostic::error(Code::WRONG_KIND, span, message).help(format!("write `wait {signal};`")));
            }
            Some(other) => {
                let message = format!("`{signal}` is {}, not a signal", other.describe());
                self.report(Diagnostic::error(Code::WRONG_KIND, span, message));
            }
        }
        self.check(from, expect_lsa_rank);
        if scope == Scope::Warpgroup {
            let d = Diagnostic::error(Code::SIGNAL_USE, span, "wait for a signal by warpgroup");
            self.report(d.help("wait `by cta`, `by warp` or `by thread`"));
        } else {
            self.whole_groups("wait", scope, span);
        }
        self.one_value(from, "rank", scope);
        if let Some(e) = expected {
            self.check(e, expect_integral);
            self.one_value(e, "number of notifies", scope);
            if let Some(n) = literal_int(e).filter(|n| !(0..=i64::from(u32::MAX)).contains(n)) {
                let message = format!("{n} notifies are waited for");
                let d = Diagnostic::error(Code::BAD_ATTR, e.span, message);
                self.report(d.help("a signal counts from 0 to 4294967295 (an engine compares 32 bits)"));
            }
        }
    }
}
