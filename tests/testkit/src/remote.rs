//! A file system whose files another machine changes: FUSE, served by this process. The kernel sends no events for such changes, as with NFS.
//!
//! One directory of readable files, as small as the protocol allows (`fuse(4)`, `linux/fuse.h`); nothing is cached by the kernel.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use parking_lot::Mutex;

/// By name: the content, and when it was written.
type Files = Arc<Mutex<BTreeMap<String, (Vec<u8>, Duration)>>>;

/// The mounted file system. Unmounted when dropped.
#[derive(Debug)]
pub struct Remote {
    directory: PathBuf,
    files: Files,
}

impl Remote {
    /// Mounts it at an existing directory, in a mount namespace of the calling thread, which its children share.
    ///
    /// # Errors
    /// When that is not permitted here, or there is no FUSE.
    pub fn mount(directory: &Path) -> io::Result<Self> {
        unshare(CloneFlags::CLONE_NEWNS)?;
        mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>)?;
        let device = OpenOptions::new().read(true).write(true).open("/dev/fuse")?;
        let options = format!("fd={},rootmode=40000,user_id=0,group_id=0,allow_other", device.as_raw_fd());
        mount(Some("narthex-test"), directory, Some("fuse"), MsFlags::MS_NOSUID | MsFlags::MS_NODEV, Some(options.as_str()))?;
        let files = Files::default();
        let served = files.clone();
        // It ends with the mount, at which reads of the device fail.
        std::thread::spawn(move || serve(device, &served));
        Ok(Self { directory: directory.to_owned(), files })
    }

    /// Changes a file, from elsewhere.
    pub fn put(&self, name: &str, text: &str) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.files.lock().insert(name.to_owned(), (text.as_bytes().to_vec(), now));
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        let _ = umount2(&self.directory, MntFlags::MNT_DETACH);
    }
}

const ROOT: u64 = 1;

fn serve(mut device: File, files: &Files) {
    let mut buffer = vec![0; 1 << 20];
    loop {
        let length = match device.read(&mut buffer) {
            Ok(length) if length >= 40 => length,
            Err(error) if matches!(error.raw_os_error().map(Errno::from_raw), Some(Errno::EINTR | Errno::ENOENT | Errno::EAGAIN)) => {
                continue;
            }
            Ok(_) | Err(_) => return,
        };
        let message = &buffer[..length];
        let (operation, unique, node) = (number(message, 4, 4), number(message, 8, 8), number(message, 16, 8));
        let Some(result) = answer(operation, node, &message[40..], files) else { continue };
        let (error, body) = match result {
            Ok(body) => (0, body),
            Err(errno) => (-(errno as i32), Vec::new()),
        };
        let mut out = Vec::with_capacity(16 + body.len());
        out.extend((16 + body.len() as u32).to_ne_bytes());
        out.extend(error.to_ne_bytes());
        out.extend(unique.to_ne_bytes());
        out.extend(body);
        // The process that asked may have been killed meanwhile.
        let _ = device.write(&out);
    }
}

/// A number of the native order, of so many bytes.
fn number(bytes: &[u8], at: usize, length: usize) -> u64 {
    let mut whole = [0; 8];
    let from = bytes.get(at..at + length).unwrap_or_default();
    let start = if cfg!(target_endian = "little") { 0 } else { 8 - length };
    whole[start..start + from.len()].copy_from_slice(from);
    u64::from_ne_bytes(whole)
}

/// `None`: no answer is expected.
fn answer(operation: u64, node: u64, body: &[u8], files: &Files) -> Option<Result<Vec<u8>, Errno>> {
    let files = files.lock();
    let file = |node: u64| files.iter().nth(usize::try_from(node - 2).ok()?);
    Some(match operation {
        // FORGET, INTERRUPT, BATCH_FORGET
        2 | 36 | 42 => return None,
        // LOOKUP
        1 => {
            let name = String::from_utf8_lossy(body.split(|byte| *byte == 0).next().unwrap_or_default());
            match files.iter().zip(2_u64..).find(|((known, _), _)| **known == name) {
                Some(((_, (content, time)), node)) => {
                    let mut out = Vec::new();
                    // Node, generation, and how long name and attributes hold.
                    for value in [node, 0, 0, 0, 0] {
                        out.extend(value.to_ne_bytes());
                    }
                    out.extend(attributes(node, Some(content.len()), *time));
                    Ok(out)
                }
                None => Err(Errno::ENOENT),
            }
        }
        // GETATTR
        3 => {
            let attributes = match (node, (node != ROOT).then(|| file(node)).flatten()) {
                (ROOT, _) => attributes(ROOT, None, Duration::ZERO),
                (_, Some((_, (content, time)))) => attributes(node, Some(content.len()), *time),
                _ => return Some(Err(Errno::ENOENT)),
            };
            Ok([vec![0; 16], attributes].concat())
        }
        // OPEN without a cache, OPENDIR
        14 => Ok([0_u64.to_ne_bytes(), 1_u64.to_ne_bytes()].concat()),
        27 => Ok(vec![0; 16]),
        // READ
        15 => match file(node) {
            Some((_, (content, _))) => {
                let from = usize::try_from(number(body, 8, 8)).unwrap_or(usize::MAX).min(content.len());
                let size = usize::try_from(number(body, 16, 4)).unwrap_or(0);
                Ok(content[from..].iter().take(size).copied().collect())
            }
            None => Err(Errno::ENOENT),
        },
        // READDIR
        28 => Ok(entries(files.keys(), number(body, 8, 8))),
        // STATFS: the kernel fills in the type.
        17 => Ok(vec![0; 80]),
        // RELEASE, RELEASEDIR
        18 | 29 => Ok(Vec::new()),
        // INIT: version 7.31, nothing special, and room for writes that never come.
        26 => {
            let mut out = vec![0; 64];
            for (at, value) in [(0, 7_u32), (4, 31), (8, 0), (12, 0), (20, 4096), (24, 1)] {
                out[at..at + 4].copy_from_slice(&value.to_ne_bytes());
            }
            Ok(out)
        }
        _ => Err(Errno::ENOSYS),
    })
}

/// `struct fuse_attr`; without a size that of the directory.
fn attributes(node: u64, size: Option<usize>, time: Duration) -> Vec<u8> {
    let mut out = Vec::with_capacity(88);
    for value in [node, size.unwrap_or(0) as u64, 1, time.as_secs(), time.as_secs(), time.as_secs()] {
        out.extend(value.to_ne_bytes());
    }
    let (nanos, mode) = (time.subsec_nanos(), if size.is_some() { 0o100_644 } else { 0o040_755 });
    // Three times, mode, links, owner, group, device, block size, flags.
    for value in [nanos, nanos, nanos, mode, 1, 0, 0, 0, 4096, 0] {
        out.extend(value.to_ne_bytes());
    }
    out
}

/// The entries after so many.
fn entries<'a>(names: impl Iterator<Item = &'a String>, after: u64) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, number) in names.zip(1_u64..).filter(|(_, number)| *number > after) {
        out.extend((number + 1).to_ne_bytes());
        out.extend(number.to_ne_bytes());
        out.extend((name.len() as u32).to_ne_bytes());
        // A regular file.
        out.extend(8_u32.to_ne_bytes());
        out.extend(name.as_bytes());
        out.resize(out.len().next_multiple_of(8), 0);
    }
    out
}
