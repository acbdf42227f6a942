//! `include/tilewright.h` is what cbindgen makes of this crate, so that the two cannot differ.

use std::path::Path;

#[test]
fn the_header_is_that_of_this_crate() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.parent().expect("the workspace");
    let sources =
        ["error.rs", "comm.rs", "module.rs", "memory.rs", "launch.rs"].map(|name| here.join("src").join(name));
    let config = cbindgen::Config::from_file(here.join("cbindgen.toml")).expect("the configuration");
    let builder = sources.iter().fold(cbindgen::Builder::new(), |builder, path| builder.with_src(path));
    let builder = builder.with_src(root.join("target/src/comm_provider.rs")).with_config(config);
    let mut made = Vec::new();
    builder.generate().expect("a header").write(&mut made);
    // What Rust heads as safety is in C what a caller must see to anyway.
    let made = String::from_utf8(made).expect("UTF-8").replace("// # Safety\n", "");
    let path = root.join("include/tilewright.h");
    if std::env::var_os("UPDATE_HEADER").is_some() {
        std::fs::write(&path, &made).expect("written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == made, "{} is out of date: run this test with UPDATE_HEADER=1", path.display());
    assert!(made.contains("uint32_t tw_launch(") && made.contains("typedef struct TwCommProvider"), "{made}");
}
