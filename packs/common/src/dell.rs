//! Dell's own tools.

/// Where Dell's packages put `racadm`, which asks the iDRAC.
pub const RACADM: [&str; 3] = [
    "/opt/dell/srvadmin/sbin/racadm",
    "/opt/dell/srvadmin/bin/idracadm7",
    "racadm",
];
