//! Reading sources and writing outputs.
//!
//! Must hold: a source is UTF-8 and at most [`MAX_SOURCE_BYTES`] long, or the error says why not and where; an output
//! appears whole or not at all (written beside its place under another name, then renamed), and so do several together;
//! links are followed; a named pipe is refused, not waited for.

use std::fs::{self, File, Metadata};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// Longest source file in bytes. Places are 32-bit, so 4 GiB is the hard limit; anything near that is a mistake.
pub const MAX_SOURCE_BYTES: u64 = 64 << 20;

/// Links that are followed one after the other, as many as Linux does.
const MAX_LINKS: usize = 40;

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
        refuse_pipe(path, &about)?;
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
/// A path that is no regular file (`/dev/null`, a terminal) is written to directly: there is nothing to rename over.
///
/// # Errors
/// One sentence that names the file.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> Result<(), String> {
    write_all_atomic(&[(path, bytes)])
}

/// Writes several files, all of them or none: each beside its place first, then all are renamed.
///
/// # Errors
/// One sentence that names the first file that cannot be written.
pub fn write_all_atomic(all: &[(&Path, &[u8])]) -> Result<(), String> {
    let mut staged = Staged::default();
    let mut direct = Vec::new();
    for (path, bytes) in all {
        match destination(path)? {
            Some(target) => staged.add(target, bytes, all.len() > 1).map_err(|e| cannot_write(path, &e.to_string()))?,
            None => direct.push((path, bytes)),
        }
    }
    // What cannot be taken back comes after everything that may fail before it, and before the renaming, as it fails more often.
    for (path, bytes) in direct {
        let open = File::options().write(true).open(path);
        open.and_then(|mut file| file.write_all(bytes)).map_err(|e| cannot_write(path, &e.to_string()))?;
    }
    staged.appear()
}

fn cannot_write(path: &Path, why: &str) -> String {
    format!("cannot write `{}`: {why}", path.display())
}

/// Files that are written and not yet in their places; what is left of them is removed on drop.
#[derive(Default)]
struct Staged(Vec<StagedFile>);

struct StagedFile {
    /// Where it belongs.
    target: PathBuf,
    /// Where it is.
    part: PathBuf,
    /// Another name of what the target was, if it was there and may have to come back.
    old: Option<PathBuf>,
}

impl Staged {
    fn add(&mut self, target: PathBuf, bytes: &[u8], keep: bool) -> std::io::Result<()> {
        let beside = |end: &str| {
            let mut name = target.file_name().unwrap_or_default().to_os_string();
            name.push(format!(".{}.{end}", std::process::id()));
            target.with_file_name(name)
        };
        let (part, old) = (beside("part"), beside("old"));
        let mode = fs::metadata(&target).ok().map(|about| about.permissions());
        let is_there = mode.is_some();
        // Listed before it is there, so that half a file goes, too.
        self.0.push(StagedFile { target: target.clone(), part: part.clone(), old: None });
        write_new(&part, bytes, mode)?;
        if keep && is_there {
            // A second name costs nothing; not every file system has them.
            fs::hard_link(&target, &old).or_else(|_| fs::copy(&target, &old).map(|_| ()))?;
            if let Some(file) = self.0.last_mut() {
                file.old = Some(old);
            }
        }
        Ok(())
    }

    /// Renames all; those before one that fails are taken back.
    fn appear(&self) -> Result<(), String> {
        for (at, file) in self.0.iter().enumerate() {
            if let Err(e) = fs::rename(&file.part, &file.target) {
                for done in &self.0[..at] {
                    // Where even this fails there is nothing else to try, and the error below is told.
                    let _ = match &done.old {
                        Some(old) => fs::rename(old, &done.target),
                        None => fs::remove_file(&done.target),
                    };
                }
                return Err(cannot_write(&file.target, &e.to_string()));
            }
        }
        Ok(())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        for file in &self.0 {
            // Mostly they are gone already; if one cannot be removed there is nobody else to tell.
            let _ = fs::remove_file(&file.part);
            let _ = file.old.as_ref().map(fs::remove_file);
        }
    }
}

/// The file that writing to the path replaces or makes, links followed; `None` for what is no file (`/dev/null`, a pipe).
///
/// # Errors
/// One sentence that names the path: it is a folder, a named pipe, in no folder that exists, or its links lead in a circle.
pub fn destination(path: &Path) -> Result<Option<PathBuf>, String> {
    let fail = |why: &str| cannot_write(path, why);
    match fs::metadata(path) {
        Ok(about) if about.is_dir() => return Err(fail("it is a folder")),
        Ok(about) if !about.is_file() => return refuse_pipe(path, &about).map(|()| None).map_err(|why| fail(&why)),
        Ok(_) => {}
        Err(e) if e.kind() == ErrorKind::NotFound => {}
        Err(e) => return Err(fail(&e.to_string())),
    }
    leads_to(path).map(Some).map_err(|why| fail(&why))
}

/// Where a path leads, whether there is a file or not.
fn leads_to(path: &Path) -> Result<PathBuf, String> {
    if let Ok(there) = fs::canonicalize(path) {
        return Ok(there);
    }
    let mut at = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        let Some(name) = at.file_name() else { return Err("it names no file".to_owned()) };
        let folder = at.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = fs::canonicalize(folder).map_err(|e| e.to_string())?;
        match fs::read_link(folder.join(name)) {
            Ok(link) => at = folder.join(link),
            Err(_) => return Ok(folder.join(name)),
        }
    }
    Err("its symbolic links lead in a circle".to_owned())
}

/// A pipe or socket that lies in the file system under a name of its own would block until somebody takes its other end;
/// those below `/dev` and `/proc` are open already.
fn refuse_pipe(path: &Path, about: &Metadata) -> Result<(), String> {
    match pipe_or_socket(about) {
        Some(what) if !path.starts_with("/dev") && !path.starts_with("/proc") => {
            Err(format!("it is {what}, which may block for ever"))
        }
        _ => Ok(()),
    }
}

#[cfg(unix)]
fn pipe_or_socket(about: &Metadata) -> Option<&'static str> {
    use std::os::unix::fs::FileTypeExt;
    let kind = about.file_type();
    if kind.is_fifo() { Some("a named pipe") } else { kind.is_socket().then_some("a socket") }
}

#[cfg(not(unix))]
fn pipe_or_socket(_: &Metadata) -> Option<&'static str> {
    None
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

    #[cfg(target_os = "linux")]
    #[test]
    fn several_files_appear_together_or_not_at_all() {
        let folder = Folder::new("all");
        let (old, new) = (folder.0.join("old"), folder.0.join("new"));
        fs::write(&old, b"old").expect("written");
        for bad in [folder.0.join("no/such"), folder.0.clone(), PathBuf::from("/dev/full")] {
            let all: [(&Path, &[u8]); 3] = [(&old, b"1"), (&new, b"2"), (&bad, b"3")];
            assert!(write_all_atomic(&all).expect_err("bad").contains(&format!("`{}`", bad.display())));
            assert_eq!(fs::read(&old).expect("read"), b"old");
            assert_eq!(fs::read_dir(&folder.0).expect("list").count(), 1, "{}", bad.display());
        }
        // The last renaming fails, as its place has become a folder in the meantime.
        let late = folder.0.join("late");
        let mut staged = Staged::default();
        for target in [&old, &new, &late] {
            staged.add(target.clone(), b"x", true).expect("staged");
        }
        fs::create_dir_all(late.join("in it")).expect("made");
        assert!(staged.appear().expect_err("a folder").contains("late"));
        drop(staged);
        assert_eq!(fs::read(&old).expect("read"), b"old");
        assert_eq!(fs::read_dir(&folder.0).expect("list").count(), 2);
        write_all_atomic(&[(&old, b"1"), (&new, b"2")]).expect("both");
        assert_eq!((fs::read(&old).expect("read"), fs::read(&new).expect("read")), (b"1".to_vec(), b"2".to_vec()));
        assert_eq!(fs::read_dir(&folder.0).expect("list").count(), 3);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_circles_refused() {
        use std::os::unix::fs::symlink;
        let folder = Folder::new("links");
        let (to, link, again) = (folder.0.join("to"), folder.0.join("link"), folder.0.join("again"));
        symlink("to", &link).expect("linked");
        symlink(&link, &again).expect("linked");
        write_atomic(&again, b"new").expect("through a link to nothing");
        write_atomic(&link, b"newer").expect("through a link to a file");
        assert_eq!(fs::read(&to).expect("read"), b"newer");
        assert!(fs::read_link(&link).is_ok() && fs::read_link(&again).is_ok());
        let circle = folder.0.join("circle");
        symlink("circle", &circle).expect("linked");
        assert!(write_atomic(&circle, b"x").expect_err("circle").contains("symbolic links"));
        assert!(fs::read_link(&circle).is_ok());
    }
}
