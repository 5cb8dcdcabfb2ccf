//! What [`crate::export!`] expands to: the generated traits implemented on the author's struct.

use std::sync::Once;

/// Lets a panic reach the daemon's log with its message and place before the instance traps.
pub fn install_panic_hook() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        std::panic::set_hook(Box::new(|info| {
            crate::log::write(crate::log::Level::Error, &info.to_string());
        }));
    });
}

/// Adds to a member's descriptor which exports of the shared plugin it has no use for.
pub fn described<M: crate::Member>() -> crate::Descriptor {
    let used = [("scanner", M::SCANS), ("kmsg-watcher", M::WATCHES_KMSG)];
    let unused = used.iter().filter(|(_, used)| !used);
    unused.fold(M::descriptor(), |descriptor, (export, _)| {
        descriptor.without_export(export)
    })
}

/// Returns whether a list has a word, at compile time.
pub const fn has(mut list: &[&str], word: &str) -> bool {
    while let [first, rest @ ..] = list {
        if equal(first.as_bytes(), word.as_bytes()) {
            return true;
        }
        list = rest;
    }
    false
}

const fn equal(mut left: &[u8], mut right: &[u8]) -> bool {
    loop {
        match (left, right) {
            ([], []) => return true,
            ([a, left_rest @ ..], [b, right_rest @ ..]) if *a == *b => {
                left = left_rest;
                right = right_rest;
            }
            _ => return false,
        }
    }
}

/// Returns the error of a call for a component that no member has.
pub fn no_member(component: &str) -> crate::Error {
    crate::Error::failed(format!("this plugin has no component `{component}`"))
}

/// Exports a checker: `export!(Type: descriptor)`, and with further exports `export!(Type + kmsg_watcher + scanner:
/// descriptor)`. The descriptor is an expression of type [`crate::Descriptor`].
///
/// Several checkers in one plugin, each of which [`crate::member!`] describes: `export!([first::Type, second::Type] +
/// kmsg_watcher + scanner)`. The plugin has all exports that one of its members uses; a missing one is an error of the
/// compiler.
#[macro_export]
macro_rules! export {
    ($checker:ident $(+ $more:ident)* : $descriptor:expr) => {
        impl $crate::bindings::checker::exports::gpud::plugin::checker::Guest for $checker {
            fn describe() -> $crate::bindings::checker::exports::gpud::plugin::checker::Descriptor {
                $crate::export::install_panic_hook();
                let descriptor: $crate::Descriptor = $descriptor;
                descriptor.into_wit(::core::env!("CARGO_PKG_VERSION"))
            }

            fn check(
                context: $crate::types::CheckContext,
            ) -> ::core::result::Result<$crate::types::Report, $crate::types::CheckError> {
                $crate::export::install_panic_hook();
                <$checker as $crate::Checker>::check(&context).map_err(::core::convert::Into::into)
            }
        }
        // A native build (for unit tests) exports nothing: the names of a component's exports are no ELF symbols.
        #[cfg(not(target_arch = "wasm32"))]
        const _: fn() -> $crate::bindings::checker::exports::gpud::plugin::checker::Descriptor =
            <$checker as $crate::bindings::checker::exports::gpud::plugin::checker::Guest>::describe;
        #[cfg(target_arch = "wasm32")]
        $crate::bindings::checker::export_checker!($checker with_types_in $crate::bindings::checker);
        $($crate::export!(@$more $checker);)*
    };
    ([$($member:path),+ $(,)?] $(+ $more:ident)*) => {
        struct Members;

        const _: () = {
            let exports: &[&str] = &[$(::core::stringify!($more)),*];
            $(
                assert!(
                    !<$member as $crate::Member>::WATCHES_KMSG || $crate::export::has(exports, "kmsg_watcher"),
                    "a member watches the kernel log: add `+ kmsg_watcher`",
                );
                assert!(
                    !<$member as $crate::Member>::SCANS || $crate::export::has(exports, "scanner"),
                    "a member has a scan of its own: add `+ scanner`",
                );
            )+
        };

        impl $crate::Checker for Members {
            fn check(
                context: &$crate::CheckContext,
            ) -> ::core::result::Result<$crate::Report, $crate::Error> {
                $(if context.component == <$member as $crate::Member>::NAME {
                    return <$member as $crate::Checker>::check(context);
                })+
                ::core::result::Result::Err($crate::export::no_member(&context.component))
            }
        }

        impl $crate::KmsgWatcher for Members {
            fn patterns(component: &str) -> ::std::vec::Vec<::std::string::String> {
                $(if component == <$member as $crate::Member>::NAME {
                    return <$member as $crate::Member>::patterns(component);
                })+
                ::std::vec::Vec::new()
            }

            fn on_messages(
                context: &$crate::CheckContext,
                messages: ::std::vec::Vec<$crate::Message>,
            ) -> ::core::result::Result<::std::vec::Vec<$crate::Event>, $crate::Error> {
                $(if context.component == <$member as $crate::Member>::NAME {
                    return <$member as $crate::Member>::on_messages(context, messages);
                })+
                ::core::result::Result::Err($crate::export::no_member(&context.component))
            }
        }

        impl $crate::Scanner for Members {
            fn scan(
                context: &$crate::CheckContext,
            ) -> ::core::result::Result<$crate::Report, $crate::Error> {
                $(if context.component == <$member as $crate::Member>::NAME {
                    return <$member as $crate::Member>::scan(context);
                })+
                ::core::result::Result::Err($crate::export::no_member(&context.component))
            }
        }

        $crate::export!(Members $(+ $more)*: $crate::Descriptor::of([
            $($crate::export::described::<$member>()),+
        ]));
    };
    (@kmsg_watcher $checker:ident) => {
        impl $crate::bindings::kmsg_watcher::exports::gpud::plugin::kmsg_watcher::Guest for $checker {
            fn patterns(component: ::std::string::String) -> ::std::vec::Vec<::std::string::String> {
                $crate::export::install_panic_hook();
                <$checker as $crate::KmsgWatcher>::patterns(&component)
            }

            fn on_messages(
                context: $crate::types::CheckContext,
                messages: ::std::vec::Vec<$crate::Message>,
            ) -> ::core::result::Result<::std::vec::Vec<$crate::Event>, $crate::types::CheckError> {
                $crate::export::install_panic_hook();
                <$checker as $crate::KmsgWatcher>::on_messages(&context, messages)
                    .map_err(::core::convert::Into::into)
            }
        }
        #[cfg(target_arch = "wasm32")]
        $crate::bindings::kmsg_watcher::export_kmsg_watcher!($checker with_types_in $crate::bindings::kmsg_watcher);
    };
    (@scanner $checker:ident) => {
        impl $crate::bindings::scanner::exports::gpud::plugin::scanner::Guest for $checker {
            fn scan(
                context: $crate::types::CheckContext,
            ) -> ::core::result::Result<$crate::types::Report, $crate::types::CheckError> {
                $crate::export::install_panic_hook();
                <$checker as $crate::Scanner>::scan(&context).map_err(::core::convert::Into::into)
            }
        }
        #[cfg(target_arch = "wasm32")]
        $crate::bindings::scanner::export_scanner!($checker with_types_in $crate::bindings::scanner);
    };
}

/// Describes a checker that shares a plugin with others: `member!(NAME => Type + kmsg_watcher + scanner: descriptor)`,
/// where `NAME` is the component's name, which the descriptor has, too. [`crate::export!`] joins them.
#[macro_export]
macro_rules! member {
    (@kmsg_watcher $checker:ident) => {
        const WATCHES_KMSG: bool = true;

        fn patterns(component: &str) -> ::std::vec::Vec<::std::string::String> {
            <$checker as $crate::KmsgWatcher>::patterns(component)
        }

        fn on_messages(
            context: &$crate::CheckContext,
            messages: ::std::vec::Vec<$crate::Message>,
        ) -> ::core::result::Result<::std::vec::Vec<$crate::Event>, $crate::Error> {
            <$checker as $crate::KmsgWatcher>::on_messages(context, messages)
        }
    };
    (@scanner $checker:ident) => {
        const SCANS: bool = true;

        fn scan(
            context: &$crate::CheckContext,
        ) -> ::core::result::Result<$crate::Report, $crate::Error> {
            <$checker as $crate::Scanner>::scan(context)
        }
    };
    ($name:expr => $checker:ident $(+ $more:ident)* : $descriptor:expr) => {
        impl $crate::Member for $checker {
            const NAME: &'static str = $name;
            $($crate::member!(@$more $checker);)*

            fn descriptor() -> $crate::Descriptor {
                $descriptor
            }
        }
    };
}

#[cfg(test)]
mod tests;
