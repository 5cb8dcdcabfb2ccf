"""The SDK without a host: `python -m unittest discover -s tests`."""

import unittest
from pathlib import Path

from gpud_sdk import (
    Checker,
    Component,
    Descriptor,
    Event,
    EventType,
    GpudError,
    HealthState,
    KmsgWatcher,
    MergeRule,
    Metric,
    NotFound,
    Report,
    Subject,
    TimedOut,
    TooLarge,
    bounds,
    exec,
    findings,
    history,
    kmsg,
    memory,
    net,
    nvml,
    sysfs,
)
from gpud_sdk.findings import Memory, degraded, unhealthy
from gpud_sdk.testing import NOW, FakeGpu, FakeHost, output


class Fine(Checker):
    descriptor = Descriptor.of(Component("c", "d"))

    def check(self, context):
        return Report.of(HealthState.healthy(context, "fine"))


class Xid(Fine, KmsgWatcher):
    def patterns(self, component):
        return ["Xid"]

    def on_messages(self, context, messages):
        return [Event(one.time, "xid", EventType.WARNING, one.text) for one in messages]


CONTEXT = FakeHost().context(Fine)


class Findings(unittest.TestCase):
    def test_the_worst_decides_and_the_first_few_are_named(self) -> None:
        many = [degraded(f"d{index}", "e", f"d{index} is warm") for index in range(7)]
        state = findings.state(CONTEXT, "fine", [*many, unhealthy("u", "e", "u is hot", action="reboot-system")])
        self.assertEqual(state.health, "unhealthy")
        self.assertRegex(state.reason, r"^u is hot; d0 is warm; .*; and 3 more$")
        self.assertEqual(state.suggested_actions.repair_actions, ["reboot-system"])

    def test_events_are_transitions(self) -> None:
        steps = [
            ([degraded("a", "e", "x")], ["e"]),
            ([degraded("a", "e", "x"), degraded("a", "e", "y")], []),
            ([unhealthy("a", "worse", "x")], ["worse"]),
            ([], ["worse_cleared"]),
            ([], []),
        ]
        before = Memory()
        for found, names in steps:
            report, after = findings.judge(CONTEXT, "fine", found, before)
            self.assertEqual([one.name for one in report.events], names)
            before = Memory.restore(after.save())

    def test_stored_memory_is_bounded_and_garbage_restores_nothing(self) -> None:
        for saved in (None, "", "[]", "3", "null", "{", '{"a": 1}'):
            self.assertEqual(Memory.restore(saved), Memory())
        many = [degraded(str(index), "e", "x") for index in range(600)]
        report, after = findings.judge(CONTEXT, "fine", many, Memory({"old": "e"}))
        self.assertEqual((len(report.events), len(after.open)), (500, 500))
        host = FakeHost()
        with host:
            memory.judge(CONTEXT, "fine", many[:2])
            self.assertIn("open", host.state)
            memory.judge(CONTEXT, "fine", [])
        self.assertEqual(host.state, {})

    def test_a_cut_text_ends_between_characters(self) -> None:
        cut = [findings.clip("a°😀", limit) for limit in (0, 1, 2, 3, 6, 7, 9)]
        self.assertEqual(cut, ["", "a", "a", "a°", "a°", "a°😀", "a°😀"])


class Bounds(unittest.TestCase):
    def test_each_bound_is_named(self) -> None:
        state = HealthState.healthy(CONTEXT, "x")
        event = Event(NOW, "e", EventType.INFO, "")
        long = HealthState.healthy(CONTEXT, "°" * 2_049)
        late = HealthState(None, NOW + 600_000, "healthy", "x")
        about = HealthState.healthy(CONTEXT, "x").about(Subject.unit("x" * 200))
        cases = [
            (Report(), "without a state"),
            (Report.of(*[state] * 257), "257 states, more than 256"),
            (Report.of(long), "state 0: reason: 4098 bytes"),
            (Report.of(late), "is in the future"),
            (Report.of(about), "state 0: subject: 200 bytes"),
            (Report.of(state).event(Event(NOW, "", EventType.INFO, "")), "event 0: no name"),
            (Report.of(state).event(Event(NOW, "e", "info", "", merge=MergeRule("k", 0))), "merge window of 0 s"),
            (Report.of(state).gauge("m", float("nan")), "metric 0: m: value nan is not finite"),
            (Report.of(state).gauge("a b", 1), "is not a Prometheus name"),
            (Report.of(state).metric(Metric("m", 1, {"l": "v" * 2_000})), "labels: 2000 bytes"),
        ]
        for report, problem in cases:
            with self.subTest(problem=problem):
                self.assertIn(problem, "; ".join(bounds.of_report(report, NOW)))
        self.assertEqual(bounds.of_report(Report.of(state).event(event), NOW), [])
        for component, problem in (
            (Component("A B", "d"), "is not 1 to 128"),
            (Component("a", "d", interval_seconds=0), "1 s"),
        ):
            self.assertIn(problem, "; ".join(bounds.of_descriptor(Descriptor.of(component))))


class Host(unittest.TestCase):
    def test_each_capability_answers_from_the_machine(self) -> None:
        message = kmsg.Message(1, 2, 3, 0, "NVRM: Xid", {"DEVICE": "x"})
        stored = history.StoredEvent(Event(NOW, "e", EventType.INFO, "m"), 2, NOW)
        usage = sysfs.FsUsage(2, 1, 1, 9, 8, False)
        host = FakeHost(
            files={"/proc/1/fd/0": "", "/proc/1/fd/1": "", "/sys/a": "x\n", "/sys/b": TimedOut("/sys/b", 5_000)},
            links={"/sys/l": "a"},
            filesystems={"/": usage, "/mnt": TimedOut("/mnt", 5_000)},
            programs={"lsblk": lambda arguments: output(arguments[0])},
            http={("/run/x.sock", "/v"): net.Response(200, {"a": "b"}, "°".encode())},
            tcp={("h", 1): 7},
            grpc={("/run/x.sock", "/a.B/C"): lambda message: net.GrpcResponse(0, "", message * 2)},
            messages=[message],
            events=[stored],
            reboots=[5_000, 9_000],
            gpus=[
                FakeGpu(
                    {
                        "temperature": lambda sensor: 40 if sensor.name == "CORE" else TimedOut("t", 5),
                        "sram_ecc_status": nvml.SramEccStatus(0, 7, 0, 0, 7, 0, 7, 0, 0, 0, 0, True),
                    }
                )
            ],
            nvml={"driver_version": "570"},
        )
        with host:
            self.assertEqual([one.text() for one in sysfs.read_glob("/sys/?")], ["x", None])
            self.assertEqual([one.kind.name for one in sysfs.list_directory("/proc")], ["DIRECTORY"])
            self.assertEqual(sysfs.count_entries("/proc/*/fd"), [sysfs.EntryCount("/proc/1/fd", 2)])
            self.assertEqual(sysfs.read_link("/sys/l"), "a")
            space, none, dead = sysfs.statvfs_all(["/", "/none", "/mnt"])
            self.assertEqual((space, type(none), type(dead)), (usage, NotFound, TimedOut))
            self.assertRaises(GpudError, lambda: sysfs.statvfs_all(["/"] * 1_025))
            for refused in (lambda: sysfs.read("/sys/../a"), lambda: sysfs.read("/sys/a", 1), lambda: sysfs.read("/x")):
                self.assertRaises(GpudError, refused)
            self.assertEqual(exec.run_program("lsblk", ["-J"]).text(), "-J")
            self.assertEqual(net.http_get("/run/x.sock", "/v").text(), "°")
            self.assertEqual(net.tcp_connect("h", 1), 7)
            self.assertEqual(net.grpc_unary("/run/x.sock", "/a.B/C", b"x").message, b"xx")
            self.assertEqual(kmsg.read_back(["Xid"]).messages, [message])
            self.assertEqual(history.own_events(0), [stored])
            self.assertEqual(history.reboots(5_000), [9_000])
            (gpu,) = nvml.devices()
            self.assertEqual(gpu.temperature(nvml.TemperatureSensor.CORE), 40)
            self.assertTrue(gpu.sram_ecc_status().threshold_exceeded)
            self.assertRaises(TimedOut, gpu.temperature, nvml.TemperatureSensor.MEMORY)
            self.assertEqual(nvml.driver_version(), "570")
        with self.assertRaisesRegex(RuntimeError, "without a host"):
            sysfs.read("/sys/a")

    def test_kernel_messages_are_picked_by_pattern(self) -> None:
        messages = [kmsg.Message(1, NOW, 3, 0, text) for text in ("usb 1-1", "NVRM: Xid")]
        self.assertEqual([one.message for one in FakeHost().on_messages(Xid, messages)], ["NVRM: Xid"])

    def test_what_a_failed_check_kept_is_not_kept(self) -> None:
        class Failing(Fine):
            def check(self, context):
                host.state["k"] = b"2"
                raise NotFound("x")

        host = FakeHost(state={"k": b"1"})
        self.assertRaises(NotFound, host.check, Failing)
        self.assertEqual(host.state, {"k": b"1"})

    def test_errors_are_worded_as_the_host_words_them(self) -> None:
        self.assertEqual(str(TooLarge("f", 9, 4)), "f: 9 is more than the limit of 4")
        self.assertEqual(str(TimedOut("f", 5)), "f: no answer for 5 ms")
        self.assertEqual(str(NotFound("f")), "f: not found")


class Contract(unittest.TestCase):
    def test_the_copy_of_the_contract_is_the_contract(self) -> None:
        package = Path(__file__).resolve().parent.parent
        contract = package.parent.parent / "wit"
        if not contract.is_dir():
            self.skipTest("not in gpud's tree")
        for file in contract.glob("*.wit"):
            with self.subTest(file=file.name):
                copy = package / "src" / "gpud_sdk" / "wit" / file.name
                self.assertEqual(copy.read_text(), file.read_text(), "cp ../../wit/*.wit src/gpud_sdk/wit/")


if __name__ == "__main__":
    unittest.main()
