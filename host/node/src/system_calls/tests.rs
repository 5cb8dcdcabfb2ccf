use std::{io, process::Command, thread};

use proptest::prelude::*;
use rustix::thread::set_no_new_privs;

use super::{
    bar_dangerous,
    program::{
        ALLOW, ARCHITECTURE, AT_LEAST, EQUAL, FIRST_ARGUMENT, HAS_BIT, Instruction, LOAD,
        NOT_PERMITTED, NUMBER, RETURN, UNKNOWN_CALL, build,
    },
    table::{CLONE3, families},
};

/// A call as the kernel shows it to the program.
#[derive(Debug, Clone, Copy)]
struct SystemCall {
    architecture: u32,
    number: u32,
    first_argument: u32,
}

/// Runs a program as the kernel does.
fn run(program: &[Instruction], call: SystemCall) -> u32 {
    let (mut at, mut value) = (0, 0);
    loop {
        let instruction = program[at];
        at += 1;
        let operand = instruction.operand;
        let is_true = match instruction.code {
            LOAD => {
                value = match operand {
                    NUMBER => call.number,
                    ARCHITECTURE => call.architecture,
                    FIRST_ARGUMENT => call.first_argument,
                    _ => panic!("loads from {operand}"),
                };
                continue;
            }
            RETURN => return operand,
            EQUAL => value == operand,
            AT_LEAST => value >= operand,
            HAS_BIT => value & operand != 0,
            code => panic!("instruction {code:#x}"),
        };
        at += usize::from(match is_true {
            true => instruction.if_true,
            false => instruction.if_false,
        });
    }
}

const NEW_USER: u32 = libc::CLONE_NEWUSER.cast_unsigned();

#[test]
fn the_calls_of_each_table_are_refused_and_those_beside_them_are_not() {
    for processor in ["x86_64", "aarch64"] {
        let families = families(processor);
        let program = build(families);
        for family in families {
            let answer = |number: u32, first_argument: u32| {
                let architecture = family.architecture;
                run(
                    &program,
                    SystemCall {
                        architecture,
                        number,
                        first_argument,
                    },
                )
            };
            let barred: Vec<u32> = family.barred().collect();
            let with_namespaces: Vec<u32> = family.with_namespaces().collect();
            for number in 0..600 {
                let expected = match number {
                    CLONE3 => UNKNOWN_CALL,
                    _ if barred.contains(&number) => NOT_PERMITTED,
                    _ => ALLOW,
                };
                assert_eq!(answer(number, 0), expected, "{processor} {number}");
                if with_namespaces.contains(&number) {
                    assert_eq!(answer(number, NEW_USER | 0x11), NOT_PERMITTED);
                } else {
                    assert_eq!(answer(number, NEW_USER), expected);
                }
            }
        }
    }
}

#[test]
fn other_kinds_of_calls_are_unknown() {
    let program = build(families("x86_64"));
    let answer = |architecture: u32, number: u32| {
        let first_argument = 0;
        run(
            &program,
            SystemCall {
                architecture,
                number,
                first_argument,
            },
        )
    };
    let x86_64 = families("x86_64")[0].architecture;
    // read, by the numbers of x32, and by those of 32-bit Arm.
    assert_eq!(answer(x86_64, 0), ALLOW);
    assert_eq!(answer(x86_64, 0x4000_0000), UNKNOWN_CALL);
    assert_eq!(answer(0x4000_0028, 3), UNKNOWN_CALL);
    assert!(families("riscv64").is_empty());
}

proptest! {
    #[test]
    fn every_call_gets_an_answer(processor in prop::sample::select(vec!["x86_64", "aarch64", ""]), architecture: u32, number: u32, first_argument: u32) {
        let families = families(processor);
        let program = build(families);
        let own = families.first().map_or(architecture, |family| family.architecture);
        for architecture in [architecture, own] {
            let answer = run(&program, SystemCall { architecture, number, first_argument });
            prop_assert!([ALLOW, NOT_PERMITTED, UNKNOWN_CALL].contains(&answer));
        }
    }
}

/// The error of a system call without pointers.
#[expect(unsafe_code, reason = "calls that no safe function makes")]
fn error_of(number: libc::c_long, argument: libc::c_long) -> Option<i32> {
    let null: libc::c_long = 0;
    // SAFETY: the calls of the tests below are refused, or fail with the null pointers that they get.
    let result = unsafe { libc::syscall(number, argument, null, null, null, null) };
    (result < 0)
        .then(|| io::Error::last_os_error().raw_os_error())
        .flatten()
}

#[test]
fn the_kernel_refuses_them_and_programs_still_start() {
    // A filter is for the thread that sets it and for what that thread starts: the other tests go on without one.
    let thread = thread::spawn(|| {
        set_no_new_privs(true).unwrap();
        if let Err(error) = bar_dangerous() {
            eprintln!("left out: {error}");
            return;
        }
        let not_permitted = Some(libc::EPERM);
        assert_eq!(error_of(libc::SYS_io_uring_setup, 1), not_permitted);
        assert_eq!(error_of(libc::SYS_userfaultfd, -1), not_permitted);
        assert_eq!(error_of(libc::SYS_keyctl, 0), not_permitted);
        assert_eq!(error_of(libc::SYS_mount, 0), not_permitted);
        assert_eq!(error_of(libc::SYS_ptrace, 0), not_permitted);
        let user_namespace = libc::c_long::from(libc::CLONE_NEWUSER);
        assert_eq!(error_of(libc::SYS_unshare, user_namespace), not_permitted);
        assert_eq!(error_of(libc::SYS_unshare, 0), None);
        assert_eq!(error_of(libc::SYS_clone3, 0), Some(libc::ENOSYS));
        // Threads and programs of the C library, which use clone3 where the kernel has it.
        assert_eq!(thread::spawn(|| 7).join().unwrap(), 7);
        let shell = Command::new("sh")
            .args([
                "-c",
                "echo $(echo out | cat); grep ^Seccomp: /proc/self/status",
            ])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&shell.stdout).into_owned();
        assert_eq!(text, "out\nSeccomp:\t2\n");
    });
    thread.join().unwrap();
}
