use super::*;

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

#[test]
fn the_screen_is_what_a_person_sees() {
    let script =
        "printf 'draft\\r\\033[K\\033[31mred\\033[0m plain\\n'; stty size; tty -s && echo yes";
    let terminal = Terminal::start(&shell(script), Size(30, 5));
    terminal.wait_for("yes");
    assert_eq!(terminal.coloured(), "r|red plain\n |5 30\n |yes");
    assert_eq!(terminal.painted(), "⟦r⟧red⟦⟧ plain\n5 30\nyes");
    assert!(terminal.bytes().starts_with(b"draft"));
    assert_eq!(terminal.end(), (Some(0), "red plain\n5 30\nyes".into()));
}

#[test]
fn ctrl_c_is_a_key() {
    let terminal = Terminal::start(
        &shell("trap 'echo stopped; exit 7' INT; echo ready; while :; do sleep 0.1; done"),
        Size::USUAL,
    );
    terminal.wait_for("ready");
    terminal.type_keys(CTRL_C);
    let (code, screen) = terminal.end();
    assert_eq!(code, Some(7));
    assert!(screen.contains("stopped"), "{screen}");
}

#[test]
fn another_size_is_told() {
    let script = "trap 'stty size; exit' WINCH; echo ready; while :; do sleep 0.1; done";
    let terminal = Terminal::start(&shell(script), Size::USUAL);
    terminal.wait_for("ready");
    terminal.resize(Size(60, 20));
    terminal.wait_for("20 60");
}

#[test]
fn a_stream_may_be_a_file() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let (from, to) = (temp.path().join("in"), temp.path().join("out"));
    std::fs::write(&from, "piped").expect("it can be written");
    let redirects = Redirects {
        stdin: Some(from),
        stdout: Some(to.clone()),
    };
    let terminal = Terminal::redirected(&shell("cat; echo seen >&2"), Size::USUAL, &redirects);
    assert_eq!(terminal.end(), (Some(0), "seen".into()));
    assert_eq!(std::fs::read_to_string(to).expect("it is there"), "piped");
}
