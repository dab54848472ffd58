use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

const URL: &str = "https://api.example:8443/v1/${parameters.a}/x-${parameters.b}.json?k=1&q=${parameters.c}&r=<${parameters.d}>&flag";

fn template(url: &str) -> UrlTemplate {
    UrlTemplate::parse(url, "url").expect("it is good")
}

fn filled(url: &str, arguments: &Value) -> Result<String, String> {
    let filled = template(url).fill(arguments);
    filled.map(String::from).map_err(|fault| fault.code.into())
}

#[test]
fn arguments_fill_their_places_and_nothing_else() {
    let path = "http://h/a/${parameters.x}/b";
    let query = "http://h/a?q=${parameters.x}&n=1";
    let rows = [
        (path, json!("v"), Ok("http://h/a/v/b")),
        (path, json!(7), Ok("http://h/a/7/b")),
        (path, json!(["a", 1]), Ok("http://h/a/%5B%22a%22%2C1%5D/b")),
        (path, json!("ä b"), Ok("http://h/a/%C3%A4%20b/b")),
        (path, json!("a/b"), Ok("http://h/a/a%2Fb/b")),
        (
            path,
            json!("@evil.example"),
            Ok("http://h/a/%40evil.example/b"),
        ),
        (path, json!("a?b#c"), Ok("http://h/a/a%3Fb%23c/b")),
        (path, json!("..."), Ok("http://h/a/.../b")),
        (path, json!("．．"), Ok("http://h/a/%EF%BC%8E%EF%BC%8E/b")),
        (path, json!("."), Err("bad_arguments")),
        (path, json!(".."), Err("bad_arguments")),
        (path, json!("../admin"), Err("bad_arguments")),
        (path, json!("x/../../admin"), Err("bad_arguments")),
        (path, json!("..\\admin"), Err("bad_arguments")),
        (path, json!("%2e%2e"), Err("bad_arguments")),
        (path, json!("%2E%2e%2fadmin"), Err("bad_arguments")),
        (path, json!("a\0b"), Err("bad_arguments")),
        (path, json!("a\r\nb"), Err("bad_arguments")),
        (path, json!(""), Err("bad_arguments")),
        (path, json!(null), Err("bad_arguments")),
        (path, json!("x".repeat(20_000)), Err("too_large")),
        (query, json!("v"), Ok("http://h/a?q=v&n=1")),
        (
            query,
            json!("a&admin=1#x"),
            Ok("http://h/a?q=a%26admin%3D1%23x&n=1"),
        ),
        (query, json!("a+b c"), Ok("http://h/a?q=a%2Bb%20c&n=1")),
        (query, json!("a\r\nb\0"), Ok("http://h/a?q=a%0D%0Ab%00&n=1")),
        (query, json!(""), Ok("http://h/a?q=&n=1")),
        (query, json!(null), Ok("http://h/a?n=1")),
        (query, json!("../.."), Ok("http://h/a?q=..%2F..&n=1")),
    ];
    for (url, argument, expected) in rows {
        let found = filled(url, &json!({ "x": argument }));
        let expected = expected.map(str::to_owned).map_err(str::to_owned);
        assert_eq!(found, expected, "{url} with {:.100}", argument.to_string());
    }
}

#[test]
fn two_arguments_cannot_make_a_step_together() {
    for (a, b) in [(".", "."), ("%2", "e"), ("%", "2e%2e")] {
        let url = "http://h/x/${parameters.a}${parameters.b}/y";
        let found = filled(url, &json!({ "a": a, "b": b }));
        if let Ok(url) = found {
            assert!(url.starts_with("http://h/x/%25"), "{url}");
        }
    }
    let dots = filled("http://h/x/.${parameters.a}", &json!({ "a": "x" }));
    assert_eq!(dots.as_deref(), Ok("http://h/x/.x"));
}

#[test]
fn a_url_whose_origin_is_not_written_out_is_refused() {
    for (url, reason) in [
        ("${parameters.s}://h/", "must begin with http"),
        ("https://${parameters.h}/", "host or the port"),
        ("https://${parameters.h}.example/", "host or the port"),
        ("https://h${parameters.h}", "host or the port"),
        ("https://h:${parameters.p}/", "host or the port"),
        ("https://${parameters.u}@h/", "host or the port"),
        ("https://user:word@h/", "a user or a password"),
        ("ftp://h/", "must begin with http"),
        ("h/path", "must begin with http"),
        ("http://", "not a URL"),
        ("http://h:99999/", "not a URL"),
        ("http://h\\@evil/", "backslash"),
        ("http://h/a b", "blank"),
        ("http://h/a\n", "blank"),
        ("http://h/a/../b", "the segment"),
        ("http://h/a/%2e%2E/b", "the segment"),
        ("http://h/%2${parameters.a}", "two hexadecimal digits"),
        ("http://h/?${parameters.a}=1", "not for a name"),
        ("http://h/?a=1&${parameters.a}", "not for a name"),
        ("http://h/#${parameters.a}", "never sent"),
        ("http://h/${parameters.", "no end"),
    ] {
        let error = UrlTemplate::parse(url, "url").expect_err(url);
        assert_eq!(error.key(), "url");
        assert!(error.to_string().contains(reason), "{url}: {error}");
    }
}

#[test]
fn lists_and_objects_of_a_query_follow_their_style() {
    let base = template("http://h");
    let rows = [
        (ListStyle::Json, json!([1, 2]), "http://h/?q=%5B1%2C2%5D"),
        (
            ListStyle::Repeated,
            json!([1, "a&b"]),
            "http://h/?q=1&q=a%26b",
        ),
        (ListStyle::Repeated, json!([]), "http://h/"),
        (ListStyle::Joined("|"), json!([1, 2]), "http://h/?q=1%7C2"),
        (
            ListStyle::Fields,
            json!({ "a]": 1, "b": "=" }),
            "http://h/?q%5Ba%5D%5D=1&q%5Bb%5D=%3D",
        ),
        (ListStyle::Fields, json!(5), "http://h/?q=5"),
    ];
    for (list, argument, expected) in rows {
        let pair = Pair {
            name: "q".into(),
            value: Some(Template::place("x")),
            list,
        };
        let url = base
            .under(vec![], vec![pair])
            .fill(&json!({ "x": argument }));
        assert_eq!(url.map(String::from).as_deref(), Ok(expected), "{list:?}");
    }
}

/// Texts that are made of what is dangerous in addresses, and of everything else.
fn hostile() -> impl Strategy<Value = String> {
    let dangerous =
        r"([./\\@?#&=:%;+ ]|%2e|%2F|%00|\.\.|//|[a-z0-9]|\r\n|．|。|\u{0}|ß|\u{202e}){0,12}";
    prop_oneof![dangerous, any::<String>()]
}

proptest! {
    #[test]
    fn no_argument_changes_the_origin_or_the_shape_of_the_address(
        a in hostile(), b in hostile(), c in hostile(), d in hostile()
    ) {
        let arguments = json!({ "a": a, "b": b, "c": c, "d": d });
        if let Ok(url) = template(URL).fill(&arguments) {
            prop_assert_eq!(url.scheme(), "https");
            prop_assert_eq!(url.host_str(), Some("api.example"));
            prop_assert_eq!(url.port(), Some(8443));
            prop_assert_eq!((url.username(), url.password()), ("", None));
            let segments: Vec<&str> = url.path_segments().expect("it has a path").collect();
            prop_assert_eq!(segments.len(), 3);
            prop_assert_eq!(segments[0], "v1");
            prop_assert!(segments[2].starts_with("x-") && segments[2].ends_with(".json"));
            let pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
            let names: Vec<&str> = pairs.iter().map(|(name, _)| name.as_str()).collect();
            prop_assert_eq!(names, ["k", "q", "r", "flag"]);
            prop_assert_eq!(&pairs[1].1, &c);
            prop_assert_eq!(&pairs[2].1, &format!("<{d}>"));
            prop_assert_eq!(url.fragment(), None);
        }
    }

    #[test]
    fn whatever_a_person_writes_is_read_or_refused(text in r"(https?://)?[a-z.]{0,5}([/?#&=%$]|\$\{parameters\.|[a-z}]|\PC){0,30}") {
        if let Ok(template) = UrlTemplate::parse(&text, "url") {
            let origin = template.origin().origin();
            let arguments = json!({ "a": "../..", "b": "@x" });
            if let Ok(url) = template.fill(&arguments) {
                prop_assert_eq!(url.origin(), origin);
            }
        }
    }
}
