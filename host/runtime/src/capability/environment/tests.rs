use super::*;

#[test]
fn names_of_loaders_shells_and_interpreters_are_refused() {
    for name in [
        "LD_PRELOAD",
        "LD_AUDIT",
        "LD_DEBUG_OUTPUT",
        "DYLD_INSERT_LIBRARIES",
        "GLIBC_TUNABLES",
        "GCONV_PATH",
        "BASH_ENV",
        "BASH_FUNC_ls",
        "ENV",
        "SHELLOPTS",
        "BASHOPTS",
        "PS4",
        "IFS",
        "PATH",
        "HOME",
        "TMPDIR",
        "PYTHONPATH",
        "PYTHONSTARTUP",
        "PERL5OPT",
        "PERL5LIB",
        "RUBYOPT",
        "NODE_OPTIONS",
        "JAVA_TOOL_OPTIONS",
        "_JAVA_OPTIONS",
        "JDK_JAVA_OPTIONS",
        "GIT_SSH_COMMAND",
        "LUA_INIT",
        "PHPRC",
        "PHP_INI_SCAN_DIR",
        "GODEBUG",
        "OPENSSL_CONF",
    ] {
        let problem = check_name(name).unwrap_err();
        assert!(
            problem.contains("no grant may list it"),
            "{name}: {problem}"
        );
    }
    for names in [
        variables::CODE,
        variables::CODE_BEGINNINGS,
        variables::PATHS,
        variables::LIBRARIES,
        variables::ADDRESSES,
    ] {
        for name in names {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
    for name in [
        "XTABLES_LIBDIR",
        "IPTABLES_LIB_DIR",
        "TC_LIB_DIR",
        "LIBVIRT_DRIVER_DIR",
        "GST_PLUGIN_PATH",
        "LIBSMB_PROG",
        "FIO_EXT_ENG_DIR",
        "LVM_SYSTEM_DIR",
        "KRB5_CONFIG",
        "SSL_CERT_FILE",
        "acme_conf",
        "NMAPDIR",
        "ZIPOPT",
        "PERF_PAGER",
        "EXINIT",
        "SLURM_TASK_PROLOG",
        "PDSH_SSH_ARGS",
        "ODBCINSTINI",
    ] {
        assert_eq!(check_name(name), Ok(()), "scripts: {name}");
        let problem = check_name_for_programs(name).unwrap_err();
        assert!(
            problem.contains("may name what a program"),
            "{name}: {problem}"
        );
    }
    for name in ["NCCL_DEBUG", "UCX_TLS", "CUDA_VISIBLE_DEVICES"] {
        assert_eq!(check_name(name), Ok(()), "{name}");
    }
    for name in ["", "1A", "A B", "A=B", "BASH_FUNC_x%%", "A\0", "ä"] {
        let problem = check_name(name).unwrap_err();
        assert!(problem.contains("is not the name"), "{name:?}: {problem}");
    }
    for name in [
        "SHARE",
        "GPU",
        "ACME_PORT",
        "ACME_URL",
        "DIRECTION",
        "LC_TIME",
        "TZ",
        "COLUMNS",
    ] {
        assert_eq!(check_name_for_programs(name), Ok(()), "{name}");
    }
}
