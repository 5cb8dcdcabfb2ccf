//! The environment variables that decide what programs run, load or trust.
//!
//! Three lists are made of this table: what root's scripts do not inherit ([`crate::trusted::inherited`]), what the builds of
//! root get (`trusted::build_environment`), and what no grant of a guest may list. The names are those of the manuals: ld.so(8), bash(1), node(1), java(1), less(1), curl(1), git(1),
//! python(1), perlrun(1), ruby(1), openssl(1), cargo(1), npm(1), pip(1), mpirun(1), and those of CUDA, NCCL, ROCm and UCX.

/// Variables whose value loaders, shells and interpreters run as such, or expand before they use it, and those that make a
/// program start another one or write a file.
pub const CODE: &[&str] = &[
    "BASHOPTS",
    // bash expands both, command substitutions included.
    "BASH_ENV",
    "BASH_XTRACEFD",
    // The unit of what df, du and ls print, which scripts compare with their limits.
    "BLOCKSIZE",
    "BLOCK_SIZE",
    "BROWSER",
    "CDPATH",
    "DF_BLOCK_SIZE",
    "DU_BLOCK_SIZE",
    "EDITOR",
    "ENV",
    "GNUMAKEFLAGS",
    "GOFLAGS",
    "GTK_MODULES",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "KUBECTL_EXTERNAL_DIFF",
    "LESSCLOSE",
    "LESSEDIT",
    "LESSOPEN",
    "LS_BLOCK_SIZE",
    "MAKEFLAGS",
    "MANPAGER",
    "MEMUSAGE_OUTPUT",
    "MFLAGS",
    "NODE_OPTIONS",
    "PAGER",
    "PCPROFILE_OUTPUT",
    "POSIXLY_CORRECT",
    "PROMPT_COMMAND",
    "PS4",
    "RSYNC_CONNECT_PROG",
    "RSYNC_RSH",
    "RUSTDOCFLAGS",
    "RUSTFLAGS",
    "SEGFAULT_OUTPUT_NAME",
    "SHELLOPTS",
    "SSH_ASKPASS",
    "SSLKEYLOGFILE",
    "SUDO_ASKPASS",
    "SUDO_EDITOR",
    "SVN_EDITOR",
    "SVN_SSH",
    "TAR_OPTIONS",
    "VIMINIT",
    "VISUAL",
    "_JAVA_OPTIONS",
];

/// Beginnings of such names, except for names of [`PATHS`] and [`HARMLESS`].
pub const CODE_BEGINNINGS: &[&str] = &[
    "ANSIBLE_",
    "ASAN_",
    "BASH_FUNC_",
    "BUNDLE_",
    "CARGO_",
    "COMPLUS_",
    "CORECLR_",
    "COR_",
    "CURL_",
    "DOTNET_",
    "ERL_",
    "GCOV_",
    "GEM_",
    "GIT_",
    "GLIBC_",
    "JULIA_",
    "LD_",
    "LSAN_",
    "LUA_",
    "MALLOC_",
    "MSAN_",
    "NPM_CONFIG_",
    "OMPI_MCA_",
    "OPENSSL_",
    "PERL",
    "PHP",
    "PIP_",
    "PMIX_MCA_",
    "PRTE_MCA_",
    "PYTHON",
    "RUBY",
    "RUSTC",
    "RUSTUP_",
    // Whether systemctl asks at all, over which socket, and which units it sees.
    "SYSTEMCTL_",
    "SYSTEMD_",
    "TSAN_",
    "UBSAN_",
    "npm_config_",
];

/// Names with such a beginning that images of containers set, and that change only how a program prints and reads text.
pub const HARMLESS: &[&str] = &[
    "CARGO_INCREMENTAL",
    "CARGO_NET_OFFLINE",
    "CARGO_TERM_COLOR",
    "DOTNET_CLI_TELEMETRY_OPTOUT",
    "PIP_DISABLE_PIP_VERSION_CHECK",
    "PIP_NO_CACHE_DIR",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONHASHSEED",
    "PYTHONIOENCODING",
    "PYTHONUNBUFFERED",
    "PYTHONUTF8",
    "PYTHON_VERSION",
    "RUSTUP_AUTO_INSTALL",
    "RUSTUP_TOOLCHAIN",
];

/// Variables that name files and folders from which these run or load something, or certificates that they trust. A name
/// without a folder is searched for in folders that other variables decide.
pub const PATHS: &[&str] = &[
    "BASH_LOADABLES_PATH",
    "CARGO_HOME",
    "CARGO_TARGET_DIR",
    "CLASSPATH",
    "CUDA_INJECTION32_PATH",
    "CUDA_INJECTION64_PATH",
    "CURL_CA_BUNDLE",
    "DOTNET_ROOT",
    "DOTNET_STARTUP_HOOKS",
    "GCONV_PATH",
    "GEM_HOME",
    "GEM_PATH",
    "GIO_EXTRA_MODULES",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
    "GTK_PATH",
    "HELM_PLUGINS",
    "HGRCPATH",
    "HOME",
    "HOSTALIASES",
    "JAVA_HOME",
    "KUBECONFIG",
    "LD_AUDIT",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "LOCPATH",
    "NCCL_CONF_FILE",
    "NODE_PATH",
    "NVTX_INJECTION32_PATH",
    "NVTX_INJECTION64_PATH",
    "OCL_ICD_FILENAMES",
    "OCL_ICD_VENDORS",
    "OPENSSL_CONF",
    "PERL5LIB",
    "PERLLIB",
    "PYTHONHOME",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "PYTHONUSERBASE",
    "QT_PLUGIN_PATH",
    "RUBYLIB",
    "RUSTUP_HOME",
    "R_ENVIRON",
    "R_ENVIRON_USER",
    "R_HOME",
    "R_LIBS",
    "R_LIBS_SITE",
    "R_LIBS_USER",
    "R_PROFILE",
    "R_PROFILE_USER",
    "SLURM_CONF",
    "TMPDIR",
    "UCX_MODULE_DIR",
    "VK_ADD_DRIVER_FILES",
    "VK_DRIVER_FILES",
    "VK_ICD_FILENAMES",
    "VK_LAYER_PATH",
    "WGETRC",
    "XDG_CONFIG_DIRS",
    "XDG_CONFIG_HOME",
    "XDG_DATA_DIRS",
    "XDG_DATA_HOME",
    "ZDOTDIR",
];

/// Variables that name a library, by its path or by a short name that the loader completes.
pub const LIBRARIES: &[&str] = &[
    "HSA_TOOLS_LIB",
    "NCCL_NET_PLUGIN",
    "NCCL_PROFILER_PLUGIN",
    "NCCL_TUNER_PLUGIN",
    "ROCP_TOOL_LIB",
];

/// Variables that name the service which answers questions about the machine. Another one can say that all is well.
pub const ADDRESSES: &[&str] = &[
    "CONTAINERD_ADDRESS",
    "CONTAINER_HOST",
    "CONTAINER_RUNTIME_ENDPOINT",
    "DBUS_SESSION_BUS_ADDRESS",
    "DBUS_SYSTEM_BUS_ADDRESS",
    "DOCKER_HOST",
    "IMAGE_SERVICE_ENDPOINT",
];

/// Variables by which gpud itself finds files and folders that it reads. `GPUD_NVML_LIBRARY_PATH` is none: a library is
/// judged when it is loaded.
pub(crate) const INPUTS: &[&str] = &[
    "GPUD_HOST_ROOT",
    "GPUD_NVIDIA_DRIVER_ROOT",
    "KMSG_FILE_PATH",
];

/// Switches for tests: with one of them gpud shows a GPU, or a fault of one, that is not there.
pub(crate) const PRETENCES: &[&str] = &[
    "GPUD_NVML_INJECT_CLOCK_EVENTS_HW_SLOWDOWN",
    "GPUD_NVML_INJECT_REMAPPED_ROWS_PENDING",
    "GPUD_NVML_MOCK_ALL_SUCCESS",
];

/// Variables that a build of root gets as they are, if their value is a plain word. Every toolchain has its own variables
/// by which it runs programs (`RUSTC_WRAPPER`, `GOFLAGS`, `npm_config_script_shell`), so that only a list of what is let
/// through can be complete.
pub(crate) const BUILD_WORDS: &[&str] = &[
    "CARGO_INCREMENTAL",
    "CARGO_NET_OFFLINE",
    "CARGO_TERM_COLOR",
    "CI",
    "COLUMNS",
    "GPUD_INSTALL_TOOLS",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LC_MESSAGES",
    "NO_COLOR",
    "RUSTUP_AUTO_INSTALL",
    "RUST_BACKTRACE",
    "SOURCE_DATE_EPOCH",
    "TERM",
];

/// Variables that a build of root gets if no other user can change what they name: folders of toolchains, and certificates
/// that they trust.
pub(crate) const BUILD_PATHS: &[&str] = &[
    "CARGO_HOME",
    "CARGO_TARGET_DIR",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "GOCACHE",
    "GOMODCACHE",
    "GOPATH",
    "HOME",
    "NODE_EXTRA_CA_CERTS",
    "PIP_CERT",
    "REQUESTS_CA_BUNDLE",
    "RUSTUP_HOME",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "XDG_CACHE_HOME",
];

/// Beginnings of further names that only toolchains read.
const OF_TOOLCHAINS: &[&str] = &["CGO_", "GO", "NODE_", "NPM_", "UV_", "YARN_", "ZIG"];
/// Further names that a build may need.
const FOR_BUILDS: &[&str] = &["AR", "CC", "CFLAGS", "CXX", "CXXFLAGS", "LDFLAGS", "PYTHON"];

/// Returns true if a build may need a variable of this name, so that it is named when it is left out.
pub(crate) fn is_for_builds(name: &str) -> bool {
    let is_listed = [BUILD_WORDS, BUILD_PATHS, FOR_BUILDS]
        .iter()
        .any(|names| names.contains(&name));
    let families = ["CARGO_", "NPM_CONFIG_", "PIP_", "RUST", "npm_config_"];
    let is_of_toolchain = families
        .iter()
        .chain(OF_TOOLCHAINS)
        .any(|part| name.starts_with(part));
    is_listed || is_of_toolchain || is_proxy(name)
}

/// Returns true for the name of a proxy, which gets what a program sends and answers in the place of the server. Operators
/// have them for good reasons.
pub(crate) fn is_proxy(name: &str) -> bool {
    name.to_ascii_lowercase().ends_with("_proxy")
}

/// Returns true if a variable of this name can decide what a program runs, loads or believes.
pub fn decides_what_runs(name: &str) -> bool {
    let lists = [CODE, PATHS, LIBRARIES, ADDRESSES];
    lists.iter().any(|names| names.contains(&name)) || begins_as_code(name)
}

/// Returns true if a variable is dangerous whatever its value is.
pub(crate) fn is_code(name: &str) -> bool {
    let is_excepted = PATHS.contains(&name) || HARMLESS.contains(&name);
    CODE.contains(&name) || (begins_as_code(name) && !is_excepted)
}

fn begins_as_code(name: &str) -> bool {
    CODE_BEGINNINGS.iter().any(|part| name.starts_with(part))
}
