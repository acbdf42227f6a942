//! `tilewright targets`: what this version compiles for.

use serde_json::json;
use tilewright_target::{TARGETS, Target, Vendor};

use super::Stop;
use crate::session::Session;
use crate::table::table;

/// Lists the targets
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

pub(super) fn main(args: &Args, session: &mut Session) -> Result<(), Stop> {
    let text = if args.json { as_json() } else { as_table() };
    session.print(&text);
    Ok(())
}

fn vendor(target: &Target) -> &'static str {
    match target.vendor {
        Vendor::Amd => "amd",
        Vendor::Nvidia => "nvidia",
    }
}

/// Names of the copy features that the target has.
fn features(target: &Target) -> Vec<&'static str> {
    let all = [
        ("sdma", target.has_sdma()),
        ("ldmatrix", target.has_ldmatrix()),
        ("stmatrix", target.has_stmatrix()),
        ("cp_async", !target.cp_async_widths().is_empty()),
        ("direct_to_lds", !target.direct_to_lds_widths().is_empty()),
        ("bulk_copy", target.has_bulk_copy()),
        ("tensor_copy", target.has_tensor_copy()),
    ];
    all.iter().filter(|(_, has)| *has).map(|(name, _)| *name).collect()
}

fn as_table() -> String {
    let mut rows = vec![["TARGET", "WARP", "SHARED", "COPY FEATURES", "PRODUCTS"].map(str::to_string).to_vec()];
    rows.extend(TARGETS.iter().map(|target| {
        vec![
            target.name.to_string(),
            target.warp_size.to_string(),
            format!("{} KiB", target.lds_bytes / 1024),
            features(target).join(" "),
            target.products.to_string(),
        ]
    }));
    table(&rows, 0)
}

fn as_json() -> String {
    let rows: Vec<_> = TARGETS
        .iter()
        .map(|target| {
            json!({
                "name": target.name,
                "vendor": vendor(target),
                "products": target.products,
                "warp_size": target.warp_size,
                "shared_bytes": target.lds_bytes,
                "max_threads_per_block": target.max_threads_per_block,
                "features": features(target),
            })
        })
        .collect();
    format!("{:#}\n", json!({ "targets": rows }))
}
