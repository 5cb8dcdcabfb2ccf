//! The bash scripts that try a volume. Each is fixed; what differs comes as variables and always stands in quotes, so
//! that no path or content is ever read as a command.
//!
//! A user who can write to the volume can put a link in the place of the folder or the file, at any moment, and the scripts
//! run as root. So each of them walks from the volume to the folder one name at a time. After each step it asks the kernel
//! where it is: at a link's target the answer is another path than expected, and the script ends. From then on it names
//! the file only within the folder that it is in, creates it as a new one, and neither follows a link nor waits for a
//! pipe.

/// One step with a time limit of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Looks at the volume, which makes an automounter mount it.
    Touch,
    /// Makes the folder.
    Create,
    /// Writes the file and waits until the server has it.
    Write,
    /// Gives the file's contents.
    Read,
    /// Removes the file.
    Remove,
}

/// Goes into the folder. With `make` set to `yes` it is made. `env pwd` is the program, which asks the kernel: bash's own
/// `pwd` says what bash remembers.
macro_rules! in_folder {
    ($script:literal) => {
        concat!(
            "set -eu -o pipefail\n",
            "umask 022\n",
            "where() { at=$(env pwd -P && printf .); at=${at%??}; }\n",
            "enter() {\n",
            "  local rest=${GPUD_NFS_FOLDER#\"$GPUD_NFS_VOLUME\"} name expected\n",
            "  cd -P -- \"$GPUD_NFS_VOLUME/.\"\n",
            "  where\n",
            "  while [ -n \"$rest\" ]; do\n",
            "    name=${rest%%/*}\n",
            "    case $rest in */*) rest=${rest#*/} ;; *) rest= ;; esac\n",
            "    [ -n \"$name\" ] || continue\n",
            "    expected=${at%/}/$name\n",
            "    if [ \"$1\" = yes ] && ! [ -d \"./$name\" ]; then\n",
            "      mkdir -- \"./$name\" || [ -d \"./$name\" ]\n",
            "    fi\n",
            "    cd -P -- \"./$name\"\n",
            "    where\n",
            "    if [ \"$at\" != \"$expected\" ]; then\n",
            "      printf '%s is a link to %s\\n' \"$expected\" \"$at\" >&2\n",
            "      exit 1\n",
            "    fi\n",
            "  done\n",
            "  file=./${GPUD_NFS_FILE##*/}\n",
            "}\n",
            $script
        )
    };
}

/// Variable: where the volume is.
pub const VOLUME: &str = "GPUD_NFS_VOLUME";
/// Variable: where the folder is.
pub const FOLDER: &str = "GPUD_NFS_FOLDER";
/// Variable: where the file is.
pub const FILE: &str = "GPUD_NFS_FILE";
/// Variable: what is written.
pub const CONTENTS: &str = "GPUD_NFS_CONTENTS";

impl Step {
    /// Its script.
    pub fn script(self) -> &'static str {
        match self {
            Self::Touch => "set -eu\nstat -- \"$GPUD_NFS_VOLUME/.\" > /dev/null\n",
            Self::Create => in_folder!("enter yes\n"),
            // A name that is there may be another name of somebody's file: it is removed, not written to.
            Self::Write => in_folder!(
                "enter no\nrm -f -- \"$file\"\nprintf %s \"$GPUD_NFS_CONTENTS\" | \
                 dd of=\"$file\" oflag=nofollow conv=excl,fsync bs=64k status=none\n"
            ),
            Self::Read => {
                in_folder!("enter no\ndd if=\"$file\" iflag=nofollow,nonblock bs=64k status=none\n")
            }
            Self::Remove => in_folder!("enter no\nrm -f -- \"$file\"\n"),
        }
    }
}

#[cfg(test)]
mod tests;
