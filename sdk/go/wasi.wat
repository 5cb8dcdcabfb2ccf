;; What a Go component gets in place of WASI: nothing of the machine, and a voice in the log.
;;
;; Go's compiler writes modules that import the first version of WASI. `gpud plugin build` joins this adapter to them
;; (the key `adapter` of gpud-plugin.yaml), so that the component imports no WASI at all: arguments, environment and
;; files are not there, random numbers are always the same, the clock counts readings, a sleep is over at once, and what
;; is written to a file (the runtime's last words, println) becomes log lines. Only the functions that the module imports
;; are kept. A function of WASI that is not here is an error when the component is made.
;;
;; Numbers: errno 0 success, 8 bad file, 52 not supported.
(module
  (import "env" "memory" (memory 0))
  (import "gpud:plugin/log@0.1.0" "write" (func $log (param i32 i32 i32)))

  ;; Nanoseconds. Ten seconds are more than the start took when the component was built, so time goes on from there.
  (global $clock (mut i64) (i64.const 10000000000))
  (global $random (mut i64) (i64.const 0))
  ;; Length of the line that is being collected.
  (global $line (mut i32) (i32.const 0))

  (func (export "args_get") (param i32 i32) (result i32) i32.const 0)
  (func (export "environ_get") (param i32 i32) (result i32) i32.const 0)
  (func $none (param $count i32) (param $bytes i32) (result i32)
    (i32.store (local.get $count) (i32.const 0))
    (i32.store (local.get $bytes) (i32.const 0))
    i32.const 0)
  (func (export "args_sizes_get") (param i32 i32) (result i32)
    (call $none (local.get 0) (local.get 1)))
  (func (export "environ_sizes_get") (param i32 i32) (result i32)
    (call $none (local.get 0) (local.get 1)))

  ;; A microsecond later at every reading: Go's runtime relies on time that does not stand still.
  (func (export "clock_time_get") (param $clock_id i32) (param $precision i64) (param $time i32) (result i32)
    (global.set $clock (i64.add (global.get $clock) (i64.const 1000)))
    (i64.store (local.get $time) (global.get $clock))
    i32.const 0)

  ;; SplitMix64, one byte of each number.
  (func (export "random_get") (param $start i32) (param $length i32) (result i32)
    (local $z i64)
    (block $done
      (loop $next
        (br_if $done (i32.eqz (local.get $length)))
        (global.set $random (i64.add (global.get $random) (i64.const 0x9e3779b97f4a7c15)))
        (local.set $z (global.get $random))
        (local.set $z (i64.mul
          (i64.xor (local.get $z) (i64.shr_u (local.get $z) (i64.const 30))) (i64.const 0xbf58476d1ce4e5b9)))
        (local.set $z (i64.mul
          (i64.xor (local.get $z) (i64.shr_u (local.get $z) (i64.const 27))) (i64.const 0x94d049bb133111eb)))
        (i64.store8 (local.get $start) (i64.shr_u (local.get $z) (i64.const 56)))
        (local.set $start (i32.add (local.get $start) (i32.const 1)))
        (local.set $length (i32.sub (local.get $length) (i32.const 1)))
        (br $next)))
    i32.const 0)

  (func $end_line
    (if (global.get $line)
      (then
        ;; Level 3 is `error`.
        (call $log (i32.const 3) (i32.const 4096) (global.get $line))
        (global.set $line (i32.const 0)))))

  ;; Lines are collected at 4096: Go's linker leaves the bytes from there to 12288 free (for another host's arguments).
  (func $put (param $byte i32)
    (if (i32.eq (local.get $byte) (i32.const 10))
      (then (call $end_line))
      (else
        (if (i32.lt_u (global.get $line) (i32.const 4000))
          (then
            ;; Only ASCII is passed on, since a line that is cut need not be UTF-8 any more.
            (i32.store8 (i32.add (global.get $line) (i32.const 4096))
              (select (local.get $byte) (i32.const 63) (i32.lt_u (local.get $byte) (i32.const 128))))
            (global.set $line (i32.add (global.get $line) (i32.const 1))))))))

  (func (export "fd_write") (param $file i32) (param $iovs i32) (param $count i32) (param $written i32) (result i32)
    (local $from i32) (local $to i32) (local $sum i32)
    (block $done
      (loop $next
        (br_if $done (i32.eqz (local.get $count)))
        (local.set $from (i32.load (local.get $iovs)))
        (local.set $to (i32.add (local.get $from) (i32.load offset=4 (local.get $iovs))))
        (local.set $sum (i32.add (local.get $sum) (i32.load offset=4 (local.get $iovs))))
        (block $end
          (loop $byte
            (br_if $end (i32.ge_u (local.get $from) (local.get $to)))
            (call $put (i32.load8_u (local.get $from)))
            (local.set $from (i32.add (local.get $from) (i32.const 1)))
            (br $byte)))
        (local.set $iovs (i32.add (local.get $iovs) (i32.const 8)))
        (local.set $count (i32.sub (local.get $count) (i32.const 1)))
        (br $next)))
    (i32.store (local.get $written) (local.get $sum))
    i32.const 0)

  (func (export "proc_exit") (param $status i32)
    (call $end_line)
    unreachable)
  (func (export "sched_yield") (result i32) i32.const 0)

  ;; One subscription to a clock (tag 0) is answered at once, with the clock moved on. Anything else would wait for
  ;; ever.
  (func (export "poll_oneoff") (param $in i32) (param $out i32) (param $count i32) (param $happened i32) (result i32)
    (if (i32.or (i32.eqz (local.get $count)) (i32.load8_u offset=8 (local.get $in)))
      (then (return (i32.const 52))))
    (global.set $clock (i64.add (global.get $clock) (i64.load offset=24 (local.get $in))))
    (i64.store (local.get $out) (i64.load (local.get $in)))
    (i64.store offset=8 (local.get $out) (i64.const 0))
    (i32.store (local.get $happened) (i32.const 1))
    i32.const 0)

  (func (export "fd_close") (param i32) (result i32) i32.const 8)
  (func (export "fd_fdstat_get") (param i32 i32) (result i32) i32.const 8)
  (func (export "fd_fdstat_set_flags") (param i32 i32) (result i32) i32.const 8)
  (func (export "fd_filestat_get") (param i32 i32) (result i32) i32.const 8)
  (func (export "fd_filestat_set_size") (param i32 i64) (result i32) i32.const 8)
  (func (export "fd_pread") (param i32 i32 i32 i64 i32) (result i32) i32.const 8)
  (func (export "fd_prestat_dir_name") (param i32 i32 i32) (result i32) i32.const 8)
  (func (export "fd_prestat_get") (param i32 i32) (result i32) i32.const 8)
  (func (export "fd_pwrite") (param i32 i32 i32 i64 i32) (result i32) i32.const 8)
  (func (export "fd_read") (param i32 i32 i32 i32) (result i32) i32.const 8)
  (func (export "fd_readdir") (param i32 i32 i32 i64 i32) (result i32) i32.const 8)
  (func (export "fd_seek") (param i32 i64 i32 i32) (result i32) i32.const 8)
  (func (export "fd_sync") (param i32) (result i32) i32.const 8)
  (func (export "path_create_directory") (param i32 i32 i32) (result i32) i32.const 52)
  (func (export "path_filestat_get") (param i32 i32 i32 i32 i32) (result i32) i32.const 52)
  (func (export "path_filestat_set_times") (param i32 i32 i32 i32 i64 i64 i32) (result i32) i32.const 52)
  (func (export "path_link") (param i32 i32 i32 i32 i32 i32 i32) (result i32) i32.const 52)
  (func (export "path_open") (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32) i32.const 52)
  (func (export "path_readlink") (param i32 i32 i32 i32 i32 i32) (result i32) i32.const 52)
  (func (export "path_remove_directory") (param i32 i32 i32) (result i32) i32.const 52)
  (func (export "path_rename") (param i32 i32 i32 i32 i32 i32) (result i32) i32.const 52)
  (func (export "path_symlink") (param i32 i32 i32 i32 i32) (result i32) i32.const 52)
  (func (export "path_unlink_file") (param i32 i32 i32) (result i32) i32.const 52)
  (func (export "sock_accept") (param i32 i32 i32) (result i32) i32.const 52)
  (func (export "sock_shutdown") (param i32 i32) (result i32) i32.const 52)
)
