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

/// Exports a checker: `export!(Type: descriptor)`, and with further exports `export!(Type + kmsg_watcher + scanner:
/// descriptor)`. The descriptor is an expression of type [`crate::Descriptor`].
///
/// Several checkers in one plugin, each with its component's name: `export!(NAME => Type: descriptor, …)`.
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
    ($($component:expr => $checker:path : $descriptor:expr),+ $(,)?) => {
        struct Components;

        impl $crate::Checker for Components {
            fn check(
                context: &$crate::CheckContext,
            ) -> ::core::result::Result<$crate::Report, $crate::Error> {
                $(if context.component == $component {
                    return <$checker as $crate::Checker>::check(context);
                })+
                ::core::result::Result::Err($crate::Error::failed(::std::format!(
                    "this plugin has no component `{}`",
                    context.component
                )))
            }
        }

        $crate::export!(Components: $crate::Descriptor::of([$($descriptor),+]));
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

#[cfg(test)]
mod tests {
    use crate::{CheckContext, Checker as _, Descriptor, Error, Report, Trigger};

    struct First;
    struct Second;

    impl crate::Checker for First {
        fn check(_: &CheckContext) -> Result<Report, Error> {
            Err(Error::failed("the first"))
        }
    }

    impl crate::Checker for Second {
        fn check(_: &CheckContext) -> Result<Report, Error> {
            Err(Error::failed("the second"))
        }
    }

    const FIRST: &str = "first";

    crate::export! {
        FIRST => First: Descriptor::new(FIRST, "One"),
        "second" => Second: Descriptor::new("second", "Another").manual(),
    }

    #[test]
    fn each_component_has_its_own_checker() {
        for (component, said) in [
            ("first", "the first"),
            ("second", "the second"),
            ("third", "this plugin has no component `third`"),
        ] {
            let context = CheckContext {
                component: component.to_owned(),
                now: 0,
                trigger: Trigger::Manual,
                boot_id: String::new(),
                boot_time: 0,
                previous_check: None,
                extra: Vec::new(),
            };
            let error = Components::check(&context).unwrap_err();
            assert!(format!("{error:?}").contains(said), "{error:?}");
        }
        let described = <Components as crate::bindings::checker::exports::gpud::plugin::checker::Guest>::describe();
        let names: Vec<&str> = described
            .components
            .iter()
            .map(|it| it.name.as_str())
            .collect();
        assert_eq!(names, ["first", "second"]);
    }
}
