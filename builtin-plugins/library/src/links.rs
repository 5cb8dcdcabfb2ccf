//! Real paths, links in any part followed.

/// Links followed for one path, as many as the kernel follows (`MAXSYMLINKS`).
const MAX_LINKS: usize = 40;

/// The path without links, as far as they can be read: `link` gives the target of what is a link and may be looked at.
pub fn resolve(path: &str, link: impl Fn(&str) -> Option<String>) -> String {
    let mut todo: Vec<String> = parts(path).rev().collect();
    let mut real: Vec<String> = Vec::new();
    let mut followed = 0;
    while let Some(part) = todo.pop() {
        if part == ".." {
            real.pop();
            continue;
        }
        real.push(part);
        if followed == MAX_LINKS {
            continue;
        }
        let Some(target) = link(&join(&real)) else {
            continue;
        };
        followed += 1;
        real.pop();
        if target.starts_with('/') {
            real.clear();
        }
        todo.extend(parts(&target).rev());
    }
    join(&real)
}

fn parts(path: &str) -> impl DoubleEndedIterator<Item = String> {
    path.split('/')
        .filter(|part| !matches!(*part, "" | "."))
        .map(str::to_owned)
}

fn join(parts: &[String]) -> String {
    format!("/{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn links_in_all_parts() {
        let links = [
            ("/lib", "usr/lib"),
            ("/usr/lib/a/libcuda.so.1", "libcuda.so.570.1"),
            ("/usr/lib/d/libcuda.so.1", "/etc/alternatives/cuda"),
            ("/etc/alternatives/cuda", "../../usr/lib/./a//libcuda.so.1"),
            ("/loop", "loop"),
            ("/up", "../../../x"),
        ];
        let link = |path: &str| {
            let found = links.iter().find(|(from, _)| *from == path)?;
            Some(found.1.to_owned())
        };
        for (path, real) in [
            ("/plain/libcuda.so", "/plain/libcuda.so"),
            ("//plain/./libcuda.so", "/plain/libcuda.so"),
            ("/lib/a/libcuda.so.1", "/usr/lib/a/libcuda.so.570.1"),
            ("/lib/d/libcuda.so.1", "/usr/lib/a/libcuda.so.570.1"),
            ("/loop", "/loop"),
            ("/up", "/x"),
        ] {
            assert_eq!(resolve(path, link), real, "{path}");
        }
    }

    proptest! {
        #[test]
        fn any_links_end(path in "(/[ab.]{0,3}){0,6}", target in "/?([ab.]{0,3}/){0,4}") {
            let real = resolve(&path, |at| at.contains('a').then(|| target.clone()));
            prop_assert!(real.starts_with('/'));
        }
    }
}
