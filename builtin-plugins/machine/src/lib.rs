//! Checkers of processors, memory, clock, sensors and operating system, in one component.
//!
//! Each is called by itself, in an instance of its own, with the grants of its own `manifest.json`: of an interface that
//! only others need, every call is refused.

use gpud_builtin_board_sensors as board_sensors;
use gpud_builtin_cpu as cpu;
use gpud_builtin_cpu_frequency as cpu_frequency;
use gpud_builtin_memory as memory;
use gpud_builtin_memory_numa as memory_numa;
use gpud_builtin_os as os;
use gpud_builtin_pressure as pressure;
use gpud_builtin_time_sync as time_sync;

gpud_sdk::export!(
    [
        board_sensors::BoardSensors,
        cpu::Cpu,
        cpu_frequency::CpuFrequency,
        memory::Memory,
        memory_numa::MemoryNuma,
        os::Os,
        pressure::Pressure,
        time_sync::TimeSync,
    ] + kmsg_watcher
);
