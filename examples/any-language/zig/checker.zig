//! A checker for gpud in Zig, without an SDK: whether the kernel has set a taint flag that means trouble.
const std = @import("std");
const contract = @import("contract.zig");
const judge = @import("judge.zig").judge;

const ComponentDescriptor = contract.ComponentDescriptor;
const Descriptor = contract.Descriptor;
const List = contract.List;
const Result = contract.Result;
const String = contract.String;

/// `gpud:plugin/sysfs.read`. A result that does not fit a register is written to the place that the last parameter names.
extern "gpud:plugin/sysfs@0.1.0" fn read(
    path: [*]const u8,
    path_len: usize,
    max_bytes: u32,
    result: *Result(List(u8), contract.AccessError),
) void;

// Memory: every call of a checker has a fresh instance, so nothing is ever freed.

var memory: [64 * 1024]u8 align(16) = undefined;
var used: usize = 0;

/// Where the host puts what it gives: strings of the context, files that were read.
export fn cabi_realloc(old: ?[*]u8, old_len: usize, alignment: usize, len: usize) [*]u8 {
    const at = std.mem.alignForward(usize, used, alignment);
    // A trap: more was read than there is room for, and gpud says so.
    if (at > memory.len or len > memory.len - at) @trap();
    used = at + len;
    const new = memory[at..].ptr;
    if (old) |before| @memcpy(new[0..old_len], before[0..old_len]);
    return new;
}

// The exports.

const name = "kernel-taint";
const path = "/proc/sys/kernel/tainted";

const components = [_]ComponentDescriptor{.{
    .name = .of(name),
    .description = .of("Taint flags of the kernel that mean trouble"),
    .interval_ms = .of(5 * 60 * 1000),
}};
const descriptor = Descriptor{ .version = .of("0.1.0"), .components = .of(&components) };

export fn @"gpud:plugin/checker@0.1.0#describe"() *const Descriptor {
    return &descriptor;
}

var state: [1]contract.HealthState = undefined;
var result: Result(contract.Report, contract.CheckError) = undefined;

/// The record `check-context` fits into 13 parameters: component, now, trigger, boot id, boot time, previous check, extra.
export fn @"gpud:plugin/checker@0.1.0#check"(
    component: [*]const u8,
    component_len: usize,
    now: u64,
    trigger: i32,
    trigger_text: [*]const u8,
    trigger_text_len: usize,
    boot_id: [*]const u8,
    boot_id_len: usize,
    boot_time: u64,
    has_previous_check: i32,
    previous_check: u64,
    extra: [*]const contract.Pair,
    extra_len: usize,
) *const Result(contract.Report, contract.CheckError) {
    _ = .{ trigger, trigger_text, trigger_text_len, boot_id, boot_id_len, boot_time };
    _ = .{ has_previous_check, previous_check, extra, extra_len };
    var file: Result(List(u8), contract.AccessError) = undefined;
    read(path, path.len, 64, &file);
    if (file.is_error) {
        // The host makes an honest state of a source that did not answer.
        result = .{ .is_error = true, .value = .{ .err = .{ .tag = 0, .value = .{ .source = file.value.err } } } };
        return &result;
    }
    const text = file.value.ok.ptr[0..file.value.ok.len];
    const flags = std.fmt.parseInt(u64, std.mem.trim(u8, text, " \n"), 10) catch {
        const why = String.of(path ++ " is no number");
        result = .{ .is_error = true, .value = .{ .err = .{ .tag = 1, .value = .{ .text = why } } } };
        return &result;
    };
    const verdict = judge(flags);
    state[0] = .{
        .name = .of(.of(component[0..component_len])),
        .time = .of(now),
        .health = verdict.health,
        .reason = .of(verdict.reason),
        .suggested_actions = verdict.actions,
    };
    result = .{ .is_error = false, .value = .{ .ok = .{ .states = .of(&state) } } };
    return &result;
}
