//! Text of layouts.

use super::push;
use crate::dim::Dim;
use crate::layout::{Axis, Iter, Layout, Swizzle};
use crate::text::print_expr::{PRODUCT, write_expr};

/// `S[…] + R[…] + offset swizzle(…)`
pub(super) fn layout(out: &mut String, l: &Layout) {
    let tile = &l.tile;
    let bare = tile.shard.is_empty() && tile.replica.is_empty() && tile.offset.is_empty() && l.swizzle.is_some();
    if !bare {
        out.push('S');
        iters(out, &tile.shard);
        if !tile.replica.is_empty() {
            out.push_str(" + R");
            iters(out, &tile.replica);
        }
        // Offsets carry no order, so they are printed in the order of the axes.
        let mut offsets: Vec<(&Axis, &Dim)> = tile.offset.iter().collect();
        offsets.sort_by_key(|(axis, _)| *axis);
        for (axis, value) in offsets {
            out.push_str(" + ");
            write_expr(out, &value.to_expr(), PRODUCT);
            on_axis(out, axis);
        }
    }
    if let Some(Swizzle { per_element, swizzle_len, atom_len, inner }) = l.swizzle {
        let word = if inner { "swizzle" } else { "swizzle_outer" };
        let gap = if bare { "" } else { " " };
        push(out, format_args!("{gap}{word}({per_element},{swizzle_len},{atom_len})"));
    }
}

fn on_axis(out: &mut String, axis: &Axis) {
    if *axis != Axis::M {
        push(out, format_args!("@{axis}"));
    }
}

fn iters(out: &mut String, iters: &[Iter]) {
    let extent = |out: &mut String, it: &Iter| write_expr(out, &it.extent.to_expr(), 0);
    let stride = |out: &mut String, it: &Iter| {
        write_expr(out, &it.stride.to_expr(), if it.axis == Axis::M { 0 } else { PRODUCT });
        on_axis(out, &it.axis);
    };
    let tight = |out: &mut String, item: &dyn Fn(&mut String, &Iter)| {
        for (i, it) in iters.iter().enumerate() {
            if i > 0 {
                out.push(',');
            }
            item(out, it);
        }
    };
    let simple = |it: &Iter| it.extent.as_const().is_some();
    match iters {
        [one] if simple(one) => {
            out.push('[');
            extent(out, one);
            out.push(':');
            stride(out, one);
            out.push(']');
        }
        _ => {
            out.push_str("[(");
            tight(out, &extent);
            out.push_str("):(");
            tight(out, &stride);
            out.push_str(")]");
        }
    }
}
