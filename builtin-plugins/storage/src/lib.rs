//! Checkers of disks, filesystems and network storage, in one component.
//!
//! Each is called by itself, in an instance of its own, with the grants of its own `manifest.json`: of an interface that
//! only others need, every call is refused.

use gpud_builtin_block_io as block_io;
use gpud_builtin_container_storage as container_storage;
use gpud_builtin_disk as disk;
use gpud_builtin_fuse as fuse;
use gpud_builtin_inodes as inodes;
use gpud_builtin_nfs as nfs;
use gpud_builtin_smart as smart;
use gpud_builtin_storage_clients as storage_clients;

gpud_sdk::export!(
    [
        block_io::BlockIo,
        container_storage::ContainerStorage,
        disk::Disk,
        fuse::Fuse,
        inodes::Inodes,
        nfs::Nfs,
        smart::DiskSmart,
        storage_clients::StorageClients,
    ] + kmsg_watcher
        + scanner
);
