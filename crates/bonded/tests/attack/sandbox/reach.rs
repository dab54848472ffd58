//! Sockets: with and without a network, only what is allowed by name.

use std::os::unix::net::{UnixDatagram, UnixListener};
use std::time::Duration;

use super::{is_here, output_of};
use crate::person::Person;
use crate::witness::Listener;

/// Tries to reach a path by every type, in every way.
fn knock(path: &str) -> String {
    format!(
        "perl -e 'use Socket; for my $t (1..5, 10) {{ for my $f (04000, 02004000) {{ \
         if (socket(my $s, PF_UNIX, $t | $f, 0)) {{ my $a = sockaddr_un(\"{path}\"); \
         send($s, \"knock\", 0, $a); connect($s, $a) and syswrite($s, \"knock\"); }} \
         if (socketpair(my $x, my $y, PF_UNIX, $t | $f, 0)) {{ my $a = sockaddr_un(\"{path}\"); \
         send($x, \"knock\", 0, $a); }} }} }}'; \
         for t in 1 2 3 5; do python3 -c \"import socket; \
         socket.socket(1, $t | 0o4000).sendmsg([b'knock'], [], 0, '{path}')\"; done; echo tried"
    )
}

#[track_caller]
fn nobody_knocked(flags: &[&str]) {
    let person = Person::new();
    let (stream, datagram) = (person.work().join("stream"), person.path("datagram"));
    let listener = UnixListener::bind(&stream).expect("it can be bound");
    let receiver = UnixDatagram::bind(&datagram).expect("it can be bound");
    for path in [&stream, &datagram] {
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        std::fs::set_permissions(path, open).expect("it is ours");
    }
    listener.set_nonblocking(true).expect("it can be set");
    receiver
        .set_read_timeout(Some(Duration::from_millis(50)))
        .expect("it can be set");
    let attempt = format!(
        "{}; {}",
        knock(&stream.display().to_string()),
        knock(&datagram.display().to_string())
    );
    // They can be reached where nothing keeps one from it.
    person.shell(&attempt);
    listener.accept().expect("the attempt is one");
    assert!(receiver.recv(&mut [0; 16]).is_ok(), "the attempt is one");
    while listener.accept().is_ok() {}
    while receiver.recv(&mut [0; 16]).is_ok() {}
    let said = output_of(&person, flags, &attempt);
    assert!(said.contains("tried"), "{said}");
    assert!(listener.accept().is_err(), "{said}");
    assert!(receiver.recv(&mut [0; 16]).is_err(), "{said}");
}

#[test]
fn no_type_of_socket_reaches_a_path_without_the_network() {
    nobody_knocked(&[]);
}

#[test]
fn no_type_of_socket_reaches_a_path_with_the_network() {
    nobody_knocked(&["--sandbox-network"]);
}

#[test]
fn with_the_network_the_internet_is_there_and_no_other_family() {
    let person = Person::new();
    let listener = Listener::new();
    let attempt = format!(
        "perl -e 'for my $f (0..45) {{ for my $t (1..6, 10) {{ for my $p (0, 1, 6, 15, 17, 132, 255) {{ \
         print \"made $f $t $p\\n\" if socket(my $s, $f, $t, $p) }} }} }}'; \
         bash -c 'echo online > /dev/tcp/127.0.0.1/{}'; echo tried",
        listener.port()
    );
    let said = output_of(&person, &["--sandbox-network"], &attempt);
    assert!(said.contains("tried"), "{said}");
    assert!(listener.heard().contains("online"), "{said}");
    for made in said.split("made ").skip(1) {
        let numbers: Vec<u32> = made
            .split(|it: char| !it.is_ascii_digit())
            .take(3)
            .filter_map(|it| it.parse().ok())
            .collect();
        assert_eq!(numbers.len(), 3, "{made}");
        let is_allowed = matches!(numbers[..], [2 | 10, 1 | 2, _] | [16, 2 | 3, 0]);
        assert!(is_allowed, "{numbers:?}");
    }
}

#[test]
fn nothing_is_typed_into_a_terminal_server_of_the_person() {
    if !is_here("tmux") {
        return;
    }
    let person = Person::new();
    let socket = person.path("tmux");
    let mark = person.path("typed");
    let start = format!("tmux -S {} new-session -d -s s 'sh'", socket.display());
    let started = person.shell(&start);
    assert_eq!(started.code, Some(0), "{started:?}");
    let typing = format!(
        "tmux -S {} send-keys -t s 'touch {}' Enter; sleep 0.5; echo tried",
        socket.display(),
        mark.display()
    );
    let said = output_of(&person, &["--sandbox-network"], &typing);
    let typed = mark.exists();
    // It can be typed into from outside.
    person.shell(&typing);
    let is_attempt = mark.exists();
    person.shell(&format!("tmux -S {} kill-server", socket.display()));
    assert!(is_attempt, "the attempt is one");
    assert!(!typed && said.contains("tried"), "{said}");
}

#[test]
fn a_daemon_of_a_command_is_dead_when_the_call_is_over() {
    let person = Person::new();
    let daemon =
        |file: &str| format!("setsid sh -c 'echo begun > {file}; sleep 1; echo alive > {file}'");
    // One that nothing ends writes twice.
    let outside = person.shell(&daemon("outside"));
    let late = std::fs::read_to_string(person.work().join("outside"));
    assert_eq!(late.ok().as_deref(), Some("alive\n"), "{outside:?}");
    let attempt = format!(
        "{} >/dev/null 2>&1 & until test -s inside; do :; done",
        daemon("inside")
    );
    output_of(&person, &[], &attempt);
    std::thread::sleep(Duration::from_millis(1500));
    let inside = std::fs::read_to_string(person.work().join("inside"));
    assert_eq!(inside.ok().as_deref(), Some("begun\n"));
}
