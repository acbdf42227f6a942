//! Reading sources and writing outputs.
//!
//! Must hold: a source is UTF-8 and at most [`MAX_SOURCE_BYTES`] long, or the error says why not and where; an output
//! appears whole or not at all (written beside its place under another name, then renamed).

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;

/// Longest source file in bytes. Places are 32-bit, so 4 GiB is the hard limit; anything near that is a mistake.
pub const MAX_SOURCE_BYTES: u64 = 64 << 20;

/// The text of a source file; `-` is standard input.
///
/// # Errors
/// One sentence: missing, a folder, not readable, too large, not UTF-8 (with the byte offset).
pub fn read_source(path: &Path) -> Result<String, String> {
    let name = path.display();
    let bytes = read_limited(path).map_err(|why| format!("cannot read `{name}`: {why}"))?;
    String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        let byte = e.as_bytes().get(at).copied().unwrap_or_default();
        format!("`{name}` is not UTF-8: byte 0x{byte:02x} at offset {at} begins no character")
    })
}

/// The bytes of a file, at most [`MAX_SOURCE_BYTES`].
///
/// # Errors
/// A phrase, without the file's name.
pub fn read_bytes(path: &Path) -> Result<Vec<u8>, String> {
    read_limited(path)
}

fn read_limited(path: &Path) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let limited = |reader: &mut dyn Read, bytes: &mut Vec<u8>| {
        reader.take(MAX_SOURCE_BYTES + 1).read_to_end(bytes).map_err(|e| e.to_string())
    };
    if path == Path::new("-") {
        limited(&mut std::io::stdin().lock(), &mut bytes)?;
    } else {
        let about = fs::metadata(path).map_err(|e| e.to_string())?;
        if about.is_dir() {
            return Err("it is a folder".to_string());
        }
        limited(&mut File::open(path).map_err(|e| e.to_string())?, &mut bytes)?;
    }
    if bytes.len() as u64 > MAX_SOURCE_BYTES {
        return Err(format!("it is longer than {MAX_SOURCE_BYTES} bytes"));
    }
    Ok(bytes)
}

/// Do both paths lead to one file that exists? `-` is none.
pub fn are_same(a: &Path, b: &Path) -> bool {
    match (fs::canonicalize(a), fs::canonicalize(b)) {
        (Ok(x), Ok(y)) => x == y && x.is_file() && a != Path::new("-"),
        _ => false,
    }
}

/// Writes a file whole or not at all.
///
/// A path that is no regular file (`/dev/null`, a pipe) is written to directly: there is nothing to rename over.
///
/// # Errors
/// One sentence that names the file.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let fail = |why: String| format!("cannot write `{}`: {why}", path.display());
    let mut mode = None;
    match fs::metadata(path) {
        Ok(about) if about.is_dir() => return Err(fail("it is a folder".to_string())),
        Ok(about) if !about.is_file() => {
            let mut file = File::options().write(true).open(path).map_err(|e| fail(e.to_string()))?;
            return file.write_all(bytes).map_err(|e| fail(e.to_string()));
        }
        Ok(about) => mode = Some(about.permissions()),
        Err(_) => {} // not there yet, or the write below says what is wrong
    }
    // Follow links, so that a linked file is replaced and not the link.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let Some(file_name) = target.file_name() else { return Err(fail("it names no file".to_string())) };
    let mut beside = file_name.to_os_string();
    beside.push(format!(".{}.part", std::process::id()));
    let beside = target.with_file_name(beside);
    let result = write_new(&beside, bytes, mode).and_then(|()| fs::rename(&beside, &target));
    result.map_err(|e| {
        // What is left half written must not stay; if it cannot be removed there is nobody else to tell.
        let _ = fs::remove_file(&beside);
        fail(e.to_string())
    })
}

fn write_new(path: &Path, bytes: &[u8], mode: Option<fs::Permissions>) -> std::io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    if let Some(mode) = mode {
        file.set_permissions(mode)?;
    }
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of its own, removed at the end.
    struct Folder(std::path::PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let path = std::env::temp_dir().join(format!("tilewright-files-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).expect("temporary folder");
            Folder(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn sources_that_cannot_be_read_say_why() {
        let folder = Folder::new("read");
        let missing = read_source(&folder.0.join("nothing.tile")).expect_err("missing");
        assert!(missing.contains("nothing.tile"), "{missing}");
        assert!(read_source(&folder.0).expect_err("folder").ends_with("it is a folder"));
        let noise = folder.0.join("noise.tile");
        fs::write(&noise, b"kernel \xff").expect("write");
        let words = read_source(&noise).expect_err("noise");
        assert!(words.contains("byte 0xff at offset 7"), "{words}");
    }

    #[test]
    fn outputs_are_whole_and_leave_nothing_behind() {
        let folder = Folder::new("write");
        let file = folder.0.join("out.bin");
        write_atomic(&file, b"one").expect("new file");
        write_atomic(&file, b"two").expect("replaced");
        assert_eq!(fs::read(&file).expect("read"), b"two");
        assert!(write_atomic(&folder.0, b"x").expect_err("folder").ends_with("it is a folder"));
        assert!(write_atomic(&folder.0.join("no/such/out"), b"x").is_err());
        assert_eq!(fs::read_dir(&folder.0).expect("list").count(), 1, "nothing half written stays");
    }
}
