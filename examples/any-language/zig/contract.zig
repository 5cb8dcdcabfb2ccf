//! The contract's types (wit/types.wit, wit/checker.wit), as the Component Model lays them out in memory.
//!
//! Records are extern structs with the fields in the order of the WIT, `option` and variants a tag and a value, `list` and
//! `string` a pointer and a length. That is the Canonical ABI, whose sizes and alignments are those of C. Types of which
//! this checker has no value are left out.

pub const String = extern struct {
    ptr: [*]const u8,
    len: usize,

    pub fn of(text: []const u8) String {
        return .{ .ptr = text.ptr, .len = text.len };
    }
};

pub fn List(comptime T: type) type {
    return extern struct {
        ptr: [*]const T,
        len: usize,

        /// The host looks at where it is all the same: within the memory, and aligned.
        pub const none = @This(){ .ptr = @ptrFromInt(@alignOf(T)), .len = 0 };

        pub fn of(items: []const T) @This() {
            return .{ .ptr = items.ptr, .len = items.len };
        }
    };
}

pub fn Option(comptime T: type) type {
    return extern struct {
        is_some: bool,
        value: T = undefined,

        pub const none = @This(){ .is_some = false };

        pub fn of(value: T) @This() {
            return .{ .is_some = true, .value = value };
        }
    };
}

/// A variant whose only payload is the text of `other`.
pub const Word = extern struct { tag: u8, other: String = undefined };

pub const Pair = extern struct { key: String, value: String };
pub const Pairs = List(Pair);

pub const healthy = Word{ .tag = 0 };
pub const degraded = Word{ .tag = 1 };
pub const unhealthy = Word{ .tag = 2 };

pub const reboot_system = Word{ .tag = 1 };
pub const hardware_inspection = Word{ .tag = 2 };

pub const SuggestedActions = extern struct { description: String, repair_actions: List(Word) };
/// Node, GPU, port, mount, unit or another one: 36 bytes at most.
pub const Subject = extern struct { tag: u8, value: [9]u32 };
/// Elements of lists that are always empty here.
pub const Unused = u64;

pub const HealthState = extern struct {
    name: Option(String),
    time: Option(u64),
    health: Word,
    reason: String,
    @"error": Option(String) = .none,
    suggested_actions: Option(SuggestedActions) = .none,
    subject: Option(Subject) = .none,
    recovery: List(Unused) = .none,
    latch: bool = false,
    evidence: List(Unused) = .none,
    extra_info: Pairs = .none,
    extra: Pairs = .none,
};

pub const Report = extern struct {
    supported: bool = true,
    states: List(HealthState),
    events: List(Unused) = .none,
    metrics: List(Unused) = .none,
    extra: Pairs = .none,
};

pub const SizeInfo = extern struct { what: String, size: u64, limit: u64 };
pub const TimeoutInfo = extern struct { what: String, after_ms: u64, last_good: Option(u64) };
pub const AccessError = extern struct {
    tag: u8,
    value: extern union { text: String, too_large: SizeInfo, timed_out: TimeoutInfo },
};
pub const CheckError = extern struct {
    tag: u8,
    value: extern union { source: AccessError, text: String },
};

pub fn Result(comptime Ok: type, comptime Err: type) type {
    return extern struct {
        is_error: bool,
        value: extern union { ok: Ok, err: Err },
    };
}

pub const MetricDescription = extern struct { name: String, help: String, buckets: List(f64) };
pub const ComponentDescriptor = extern struct {
    name: String,
    description: String,
    tags: List(String) = .none,
    interval_ms: Option(u64) = .none,
    run_mode: Word = .{ .tag = 0 },
    set_healthy: Word = .{ .tag = 0 },
    metrics: List(MetricDescription) = .none,
    config_schema: Option(String) = .none,
    extra: Pairs = .none,
};
pub const Descriptor = extern struct {
    version: String,
    components: List(ComponentDescriptor),
    extra: Pairs = .none,
};
