//! The table as a program of classic BPF, which the kernel runs before each system call. No I/O.

use super::table::{CLONE3, Family};

/// An instruction, as `struct sock_filter` of Linux.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instruction {
    /// The operation.
    pub code: u16,
    /// How many instructions to leave out if a comparison is true.
    pub if_true: u8,
    /// How many if it is false.
    pub if_false: u8,
    /// Its number.
    pub operand: u32,
}

/// Codes of instructions: `BPF_LD|BPF_W|BPF_ABS`, `BPF_JMP|BPF_JEQ`, `BPF_JMP|BPF_JGE`, `BPF_JMP|BPF_JSET`, `BPF_RET`.
pub const LOAD: u16 = 0x20;
pub const EQUAL: u16 = 0x15;
pub const AT_LEAST: u16 = 0x35;
pub const HAS_BIT: u16 = 0x45;
pub const RETURN: u16 = 0x06;

/// Places in `struct seccomp_data`: the call's number, its architecture, the lower half of its first argument.
pub const NUMBER: u32 = 0;
pub const ARCHITECTURE: u32 = 4;
pub const FIRST_ARGUMENT: u32 = 16;

/// Answers: `SECCOMP_RET_ALLOW`, and `SECCOMP_RET_ERRNO` with `EPERM` and `ENOSYS`.
pub const ALLOW: u32 = 0x7fff_0000;
pub const NOT_PERMITTED: u32 = 0x0005_0001;
pub const UNKNOWN_CALL: u32 = 0x0005_0026;

/// `CLONE_NEWUSER`.
const NEW_USER_NAMESPACE: u32 = 0x1000_0000;

const fn plain(code: u16, operand: u32) -> Instruction {
    branch(code, operand, 0, 0)
}

const fn branch(code: u16, operand: u32, if_true: u8, if_false: u8) -> Instruction {
    Instruction {
        code,
        if_true,
        if_false,
        operand,
    }
}

/// Returns the program for these kinds of programs. Calls of other kinds are refused as unknown.
pub fn build(families: &[Family]) -> Vec<Instruction> {
    let mut program = vec![plain(LOAD, ARCHITECTURE)];
    for family in families {
        let calls = judge(family);
        // A jump leaves out 255 instructions at most; the kernel refuses a program that jumps too far, and none is set then.
        let length = u8::try_from(calls.len()).unwrap_or(u8::MAX);
        program.push(branch(EQUAL, family.architecture, 0, length));
        program.extend(calls);
    }
    program.push(plain(RETURN, UNKNOWN_CALL));
    program
}

/// The part for one kind of program. It always returns.
fn judge(family: &Family) -> Vec<Instruction> {
    let mut part = vec![
        plain(LOAD, NUMBER),
        branch(AT_LEAST, family.end, 0, 1),
        plain(RETURN, UNKNOWN_CALL),
        branch(EQUAL, CLONE3, 0, 1),
        plain(RETURN, UNKNOWN_CALL),
    ];
    for number in family.barred() {
        part.push(branch(EQUAL, number, 0, 1));
        part.push(plain(RETURN, NOT_PERMITTED));
    }
    for number in family.with_namespaces() {
        part.extend([
            branch(EQUAL, number, 0, 4),
            plain(LOAD, FIRST_ARGUMENT),
            branch(HAS_BIT, NEW_USER_NAMESPACE, 0, 1),
            plain(RETURN, NOT_PERMITTED),
            plain(RETURN, ALLOW),
        ]);
    }
    part.push(plain(RETURN, ALLOW));
    part
}
