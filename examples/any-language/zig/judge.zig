//! The decision: pure, so that its tests need no machine (`zig test judge.zig`).
const std = @import("std");
const contract = @import("contract.zig");

pub const Verdict = struct { health: contract.Word, reason: []const u8, actions: contract.Option(contract.SuggestedActions) = .none };

/// Judges the flags of `/proc/sys/kernel/tainted`, see the kernel's Documentation/admin-guide/tainted-kernels.rst.
pub fn judge(flags: u64) Verdict {
    if (flags & (1 << 4) != 0) return .{
        .health = contract.unhealthy,
        .reason = "the processor reported a machine check since the kernel started",
        .actions = .of(.{ .description = .of("have the hardware looked at"), .repair_actions = .of(&.{contract.hardware_inspection}) }),
    };
    if (flags & (1 << 7) != 0) return .{
        .health = contract.degraded,
        .reason = "the kernel had an oops and goes on with what is left",
        .actions = .of(.{ .description = .of("reboot when the work allows it"), .repair_actions = .of(&.{contract.reboot_system}) }),
    };
    if (flags & (1 << 14) != 0) return .{ .health = contract.degraded, .reason = "a processor was stuck (soft lockup)" };
    return .{ .health = contract.healthy, .reason = "no taint flag that means trouble" };
}

test "machine checks are grave, modules of others are no trouble" {
    try std.testing.expectEqual(contract.unhealthy.tag, judge(16 | 128).health.tag);
    try std.testing.expectEqual(contract.degraded.tag, judge(128 | 1).health.tag);
    try std.testing.expectEqual(contract.degraded.tag, judge(1 << 14).health.tag);
    try std.testing.expectEqual(contract.healthy.tag, judge(4097).health.tag);
}
