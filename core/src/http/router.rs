//! [`Router`]: a tree over the route table that finds the rows matching a path. Building it fails if one request could
//! match two operations.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::request::Method;
use super::route::Route;

/// The path without segments.
const ROOT: &str = "/";

/// Result of matching a path.
pub struct RouteMatch<'p> {
    /// The rows that share this path, one per method; never empty.
    pub routes: Vec<&'static Route>,
    /// Text of each `{…}` segment, in path order, as sent (not percent-decoded); of `{*…}`, all that is left of the path.
    pub params: Vec<&'p str>,
}

impl RouteMatch<'_> {
    /// Returns the row for `method`; `HEAD` uses the `GET` row, and `None` means 405.
    pub fn route(&self, method: Method) -> Option<&'static Route> {
        let method = if method == Method::Head { Method::Get } else { method };
        self.routes.iter().copied().find(|route| route.takes_method(method))
    }

    /// Returns the value of the `Allow` header, for example `GET, HEAD, OPTIONS`.
    pub fn allow(&self) -> String {
        let mut names: Vec<&str> = Vec::new();
        for route in &self.routes {
            names.push(route.method.name());
            if route.method == Method::Get {
                names.push("HEAD");
            }
            if route.patch {
                names.push("PATCH");
            }
        }
        names.push("OPTIONS");
        names.join(", ")
    }
}

/// Tree of all paths. A literal segment takes precedence over `{…}`, whatever the method, and both over `{*…}`, which is
/// the rest of a path and stands last.
#[derive(Default)]
pub struct Router {
    root: Node,
}

#[derive(Default)]
struct Node {
    literals: Vec<(&'static str, Node)>,
    param: Option<Box<(&'static str, Node)>>,
    rest: Option<Box<Node>>,
    routes: Vec<&'static Route>,
}

impl Router {
    /// Builds the tree; the error names the rows that clash or the path that is malformed.
    pub fn new(routes: impl IntoIterator<Item = &'static Route>) -> Result<Self, String> {
        let (mut router, mut ids) = (Self::default(), BTreeSet::new());
        for route in routes {
            if !ids.insert(route.id) {
                return Err(format!("two rows are called {}", route.id));
            }
            for path in route.paths.iter().chain(route.files) {
                router.add(path, route)?;
            }
        }
        Ok(router)
    }

    fn add(&mut self, path: &'static str, route: &'static Route) -> Result<(), String> {
        let segments = path.strip_prefix('/').ok_or_else(|| format!("{path} does not begin with a slash"))?;
        let mut node = &mut self.root;
        for (at, segment) in segments.split('/').filter(|_| path != ROOT).enumerate() {
            if segment.starts_with("{*") && segments.split('/').nth(at + 1).is_some() {
                return Err(format!("{path} of {}: {segment} is not its end", route.id));
            }
            node = node.below(segment).map_err(|why| format!("{path} of {}: {why}", route.id))?;
        }
        for method in [Method::Get, Method::Post, Method::Put, Method::Patch, Method::Delete] {
            let other = node.routes.iter().find(|other| other.takes_method(method));
            if let Some(other) = other.filter(|_| route.takes_method(method)) {
                return Err(format!("{} {path} is both {} and {}", method.name(), other.id, route.id));
            }
        }
        node.routes.push(route);
        Ok(())
    }

    /// Finds the rows of a path. A segment that is neither a number nor a UUID is no `{id}`, nor any other `{…id}`.
    pub fn find<'p>(&self, path: &'p str) -> Option<RouteMatch<'p>> {
        let path = canonical(path);
        let (mut node, mut params) = (&self.root, Vec::new());
        let mut left = path.strip_prefix('/').map(|left| Some(left).filter(|_| path != ROOT))?;
        let mut with_rest = None;
        while let Some(segments) = left {
            with_rest = node.rest.as_deref().map(|rest| (rest, params.len(), segments)).or(with_rest);
            let (segment, more) = segments.split_once('/').map_or((segments, None), |(one, more)| (one, Some(more)));
            let Some((next, param)) = node.next(segment) else { break };
            params.extend(param);
            (node, left) = (next, more);
        }
        if left.is_some() || node.routes.is_empty() {
            let (rest, known, segments) = with_rest?;
            params.truncate(known);
            params.push(segments);
            node = rest;
        }
        Some(RouteMatch { routes: node.routes.clone(), params })
    }
}

/// First segments of the paths that are also served under `/api`.
const UNDER_API: [&str; 7] = ["user", "leads", "conversations", "widgets", "automate", "ai", "ai-replies"];

/// Returns the path without its `/api`: `/api/user/…` is the same as `/user/…`, and so with each of `UNDER_API`.
pub fn canonical(path: &str) -> &str {
    let is_under = |rest: &&str| {
        rest.strip_prefix('/')
            .is_some_and(|rest| rest.split('/').next().is_some_and(|first| UNDER_API.contains(&first)))
    };
    path.strip_prefix("/api").filter(is_under).unwrap_or(path)
}

/// Returns whether a segment can be the value of a parameter.
fn is_value(name: &str, segment: &str) -> bool {
    let is_uuid = || {
        segment.len() == 36
            && segment.bytes().enumerate().all(|(at, byte)| match at {
                8 | 13 | 18 | 23 => byte == b'-',
                _ => byte.is_ascii_hexdigit(),
            })
    };
    !segment.is_empty() && (!name.ends_with("id") || segment.bytes().all(|b| b.is_ascii_digit()) || is_uuid())
}

impl Node {
    /// Returns the child node that a segment of a request leads to, with the segment where it is a parameter.
    fn next<'p>(&self, segment: &'p str) -> Option<(&Self, Option<&'p str>)> {
        if let Some((_, next)) = self.literals.iter().find(|(name, _)| *name == segment) {
            return Some((next, None));
        }
        let (_, next) = self.param.as_deref().filter(|(name, _)| is_value(name, segment))?;
        Some((next, Some(segment)))
    }

    /// Returns the child node for a segment, creating it if needed.
    fn below(&mut self, segment: &'static str) -> Result<&mut Self, String> {
        let bare = segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        let name = bare.unwrap_or(segment);
        if name.is_empty() || name.contains(['{', '}']) {
            return Err(format!("{segment:?} is no segment"));
        }
        if name.starts_with('*') {
            return Ok(self.rest.get_or_insert_default());
        }
        if bare.is_some() {
            let (known, node) = self.param.get_or_insert_with(|| Box::new((name, Self::default()))).as_mut();
            return if *known == name { Ok(node) } else { Err(format!("{segment} stands where {{{known}}} does")) };
        }
        let at = self.literals.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
            self.literals.push((name, Self::default()));
            self.literals.len() - 1
        });
        Ok(&mut self.literals[at].1)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::super::reply::Reply;
    use super::super::route::{delete, get, put};
    use super::*;

    const A: Route = get(&["/a/{id}"], "a", "A", |_| Ok(Reply::no_content()));

    fn refused(rows: &'static [Route]) -> String {
        Router::new(rows).err().unwrap_or_default()
    }

    #[test]
    fn a_table_in_which_a_request_means_two_rows_is_refused() {
        const PUT: Route = put(&["/a/{id}"], "put", "Put", A.handler);
        const PATCH: Route = Route { method: Method::Patch, id: "patch", ..PUT };
        const TWICE: &[Route] = &[A, Route { paths: &["/b", "/a/{id}"], id: "b", ..A }];
        const PATCHED: &[Route] = &[PUT.and_patch(), PATCH];
        const CALLED: &[Route] = &[A, delete(&["/b"], "a", "B", A.handler)];
        const BOTH: &[Route] = &[A, PUT.and_patch()];
        const NAMED: &[Route] = &[A, Route { paths: &["/a/{name}/b"], id: "b", ..A }];
        assert_eq!(refused(TWICE), "GET /a/{id} is both a and b");
        assert_eq!(refused(PATCHED), "PATCH /a/{id} is both put and patch");
        assert_eq!(refused(CALLED), "two rows are called a");
        assert_eq!(refused(NAMED), "/a/{name}/b of b: {name} stands where {id} does");
        assert_eq!(refused(BOTH), "");
    }

    #[test]
    fn an_id_is_a_number_or_a_uuid() {
        let router = Router::new([&A]).expect("a table");
        for (segment, is_id) in [
            ("7", true),
            ("0b8a1f6e-2c3d-4e5f-8a9b-0c1d2e3f4a5b", true),
            ("", false),
            ("seven", false),
            ("7a", false),
            ("%37", false),
            ("0b8a1f6e-2c3d-4e5f-8a9b-0c1d2e3f4a5g", false),
            ("0b8a1f6e02c3d04e5f08a9b00c1d2e3f4a5b", false),
        ] {
            assert_eq!(router.find(&format!("/a/{segment}")).is_some(), is_id, "{segment}");
        }
    }

    #[test]
    fn the_root_is_a_path_of_its_own() {
        const ROOT: Route = Route { paths: &["/"], id: "root", ..A };
        let router = Router::new([&A, &ROOT]).expect("a table");
        let found = |path: &str| router.find(path).map(|found| found.routes[0].id);
        assert_eq!(
            (found("/"), found("/a/7"), found("//"), found(""), found("/a/")),
            (Some("root"), Some("a"), None, None, None)
        );
        let bare = Router::new([&A]).expect("a table");
        assert!(bare.find("/").is_none());
    }

    #[test]
    fn the_rest_of_a_path_is_one_parameter() {
        const REST: Route = Route { paths: &["/c", "/c/{*rest}"], id: "rest", ..A };
        const OWN: Route = Route { paths: &["/c/{id}/own"], id: "own", ..A };
        const WITHIN: &[Route] = &[Route { paths: &["/c/{*rest}/own"], id: "own", ..A }];
        let router = Router::new([&A, &REST, &OWN]).expect("a table");
        let found = |path: &'static str| router.find(path).map(|found| (found.routes[0].id, found.params));
        for (path, want) in [
            ("/c", Some(("rest", vec![]))),
            ("/c/", Some(("rest", vec![""]))),
            ("/c/x", Some(("rest", vec!["x"]))),
            ("/c/x/y.js", Some(("rest", vec!["x/y.js"]))),
            ("/c//../y", Some(("rest", vec!["/../y"]))),
            ("/c/7/own", Some(("own", vec!["7"]))),
            ("/c/7/other", Some(("rest", vec!["7/other"]))),
            ("/c/7", Some(("rest", vec!["7"]))),
            ("/cx", None),
        ] {
            assert_eq!(found(path), want, "{path}");
        }
        assert_eq!(refused(WITHIN), "/c/{*rest}/own of own: {*rest} is not its end");
    }

    #[test]
    fn a_path_that_is_none_is_refused() {
        const ROWS: [&[Route]; 4] = [
            &[Route { paths: &["a"], ..A }],
            &[Route { paths: &["/a/"], ..A }],
            &[Route { paths: &["/a/{}"], ..A }],
            &[Route { paths: &["/a/x{id}"], ..A }],
        ];
        assert_eq!(refused(ROWS[0]), "a does not begin with a slash");
        assert_eq!(refused(ROWS[1]), "/a/ of a: \"\" is no segment");
        assert_eq!(refused(ROWS[2]), "/a/{} of a: \"{}\" is no segment");
        assert_eq!(refused(ROWS[3]), "/a/x{id} of a: \"x{id}\" is no segment");
    }
}
