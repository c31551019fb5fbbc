//! How much memory this machine, or the container around this process, has.

use std::path::{Path, PathBuf};

/// Where control groups of version 2 stand; those of version 1 are in its folder `memory`.
const CGROUP_ROOT: &str = "/sys/fs/cgroup";

/// Version 1 writes the largest page number where there is no limit.
const NO_LIMIT_BYTES: u64 = 1 << 62;

/// What a job may take when nobody says how much: a quarter of the machine.
pub fn default_bytes() -> u64 {
    const UNKNOWN_MACHINE_BYTES: u64 = 4 << 30;
    machine_memory_bytes().unwrap_or(UNKNOWN_MACHINE_BYTES) / 4
}

/// The memory of the machine, or the limit of a control group around this process if that is less;
/// nothing where Linux does not tell.
pub fn machine_memory_bytes() -> Option<u64> {
    let read = |path: &Path| std::fs::read_to_string(path).ok();
    let machine = read(Path::new("/proc/meminfo")).and_then(|text| mem_total_bytes(&text));
    let cgroups = read(Path::new("/proc/self/cgroup")).unwrap_or_default();
    let limits = limit_files(&cgroups).into_iter().filter_map(|path| limit_bytes(&read(&path)?));
    machine.into_iter().chain(limits).min()
}

/// The figure of the line `MemTotal:  16384 kB`, where kB means 1024.
fn mem_total_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let n_kib: u64 = line.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    n_kib.checked_mul(1024)
}

/// The limit in a file of a control group, which may say `max`.
fn limit_bytes(text: &str) -> Option<u64> {
    text.trim().parse().ok().filter(|&n_bytes| n_bytes < NO_LIMIT_BYTES)
}

/// The files that may hold a limit: those of the process's own groups, as `/proc/self/cgroup` names
/// them, and of every group around these up to the root.
fn limit_files(cgroups: &str) -> Vec<PathBuf> {
    let root = Path::new(CGROUP_ROOT);
    let v1_root = root.join("memory");
    let mut files = vec![root.join("memory.max"), v1_root.join("memory.limit_in_bytes")];
    for line in cgroups.lines() {
        // hierarchy-id:controllers:/path/of/the/group
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (fields.next(), fields.next()) else {
            continue;
        };
        let (root, name) = match controllers {
            "" => (root, "memory.max"),
            _ if controllers.split(',').any(|controller| controller == "memory") => {
                (v1_root.as_path(), "memory.limit_in_bytes")
            }
            _ => continue,
        };
        let group = root.join(group.trim_start_matches('/'));
        let around = group.ancestors().take_while(|folder| *folder != root);
        files.extend(around.filter(|folder| folder.starts_with(root)).map(|f| f.join(name)));
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_read_from_meminfo() {
        let text = "MemFree:    1 kB\nMemTotal:       16384256 kB\nBuffers:  2 kB\n";
        assert_eq!(mem_total_bytes(text), Some(16_384_256 * 1024));
        assert_eq!(mem_total_bytes("MemFree: 1 kB\n"), None);
        assert_eq!(mem_total_bytes("MemTotal: many\n"), None);
    }

    #[test]
    fn a_group_without_limit_sets_none() {
        assert_eq!(limit_bytes("max\n"), None);
        assert_eq!(limit_bytes("9223372036854771712\n"), None);
        assert_eq!(limit_bytes("268435456\n"), Some(256 << 20));
    }

    #[test]
    fn the_groups_around_the_process_are_looked_at_too() {
        let files = limit_files("4:cpu:/x\n3:memory,hugetlb:/docker/abc\n0::/a.slice/b.scope\n");
        let expected = [
            "/sys/fs/cgroup/memory.max",
            "/sys/fs/cgroup/memory/memory.limit_in_bytes",
            "/sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes",
            "/sys/fs/cgroup/memory/docker/memory.limit_in_bytes",
            "/sys/fs/cgroup/a.slice/b.scope/memory.max",
            "/sys/fs/cgroup/a.slice/memory.max",
        ];
        assert_eq!(files, expected.map(PathBuf::from));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_machine_has_memory() {
        assert!(machine_memory_bytes().unwrap() > 1 << 20);
    }
}
