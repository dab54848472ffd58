//! What a command, a file or a variable brings must not act before the sandbox stands.

use std::os::fd::AsRawFd;
use std::path::PathBuf;

use super::{is_here, output_of, run_with};
use crate::person::{Person, done, sh};
use crate::witness::{absent, holds_no};

/// What our programs take from the library that unwinds: one without them would not be loaded at all.
const UNWINDING: [&str; 15] = [
    "_Unwind_Backtrace",
    "_Unwind_DeleteException",
    "_Unwind_FindEnclosingFunction",
    "_Unwind_GetCFA",
    "_Unwind_GetDataRelBase",
    "_Unwind_GetGR",
    "_Unwind_GetIP",
    "_Unwind_GetIPInfo",
    "_Unwind_GetLanguageSpecificData",
    "_Unwind_GetRegionStart",
    "_Unwind_GetTextRelBase",
    "_Unwind_RaiseException",
    "_Unwind_Resume",
    "_Unwind_SetGR",
    "_Unwind_SetIP",
];

/// A library that says that it was loaded, and where.
fn library(person: &Person, name: &str) -> Option<PathBuf> {
    if !is_here("cc") {
        return None;
    }
    let source = person.path("evil.c");
    let mark = person.path("loaded");
    person.write(
        &source,
        format!(
            "#include <fcntl.h>\n#include <unistd.h>\n__attribute__((constructor)) static void f(void) {{ \
             int d = open(\"{}\", O_CREAT | O_WRONLY, 0644); if (d >= 0) close(d); }}\n{}",
            mark.display(),
            UNWINDING.map(|name| format!("void {name}(void) {{}}\n")).concat()
        ),
    );
    let library = person.work().join(name);
    let line = format!(
        "cc -shared -fPIC -o {} {}",
        library.display(),
        source.display()
    );
    let built = person.shell(&line);
    assert_eq!(built.code, Some(0), "{built:?}");
    // It must be able to do what it is for.
    person.shell(&format!(
        "LD_PRELOAD={} /bin/true; test -e {}",
        library.display(),
        mark.display()
    ));
    assert!(mark.exists(), "the library does nothing");
    std::fs::remove_file(&mark).expect("it is there");
    Some(library)
}

#[test]
fn a_library_in_the_directory_is_not_loaded_by_what_starts_commands() {
    let person = Person::new();
    // One that the shell does not need, so that commands run.
    if library(&person, "libgcc_s.so.1").is_none() {
        return;
    }
    for value in [":/usr/local/cuda/lib64", "."] {
        let lines = [sh("true"), sh("echo over > over"), done()];
        let ended = run_with(
            &person,
            &["--sandbox-env", "LD_LIBRARY_PATH"],
            &lines,
            |command| {
                command.env("LD_LIBRARY_PATH", value);
                // Ours is started from elsewhere: only what starts commands is in the directory.
                command.current_dir(person.home()).args(["-C", "work"]);
            },
        );
        absent(person.path("loaded"));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(person.work().join("over").exists(), "commands run");
        person.shell("rm -rf over ~/.local/share/bonded/store.db*");
    }
}

#[test]
fn what_is_preloaded_for_commands_is_loaded_inside_and_not_by_what_starts_them() {
    let person = Person::new();
    if library(&person, "evil.so").is_none() {
        return;
    }
    // The program itself does not find it from where it is started; what starts commands would.
    let lines = [sh("true"), sh("echo over > over"), done()];
    run_with(
        &person,
        &["--sandbox-env", "LD_PRELOAD"],
        &lines,
        |command| {
            command.env("LD_PRELOAD", "./evil.so");
            command.current_dir(person.home()).args(["-C", "work"]);
        },
    );
    absent(person.path("loaded"));
    assert!(person.work().join("over").exists(), "commands run");
}

#[test]
fn a_servers_variables_do_not_act_on_what_starts_it() {
    let person = Person::new();
    let Some(library) = library(&person, "evil.so") else {
        return;
    };
    let config = serde_json::json!({ "mcpServers": { "evil": {
        "command": ["sh", "-c", "echo started > started"], "env": { "LD_PRELOAD": library, "GCONV_PATH": person.work() } } } });
    person.write(person.home().join("config.json"), config.to_string());
    person.write(
        person.home().join("evil-agent.ai"),
        "---\nmodels: script/x\ntools: evil\n---\nDo it.",
    );
    let script = person.script(&[done()]);
    let config = person.home().join("config.json");
    let ended = person.bonded(&[
        "run",
        "--trust",
        "--model",
        &script,
        "--config",
        &config.display().to_string(),
        "--agent",
        &person.home().join("evil-agent.ai").display().to_string(),
        "go",
    ]);
    assert_ne!(ended.code, Some(0), "{ended:?}");
    assert!(person.work().join("started").exists(), "{ended:?}");
    absent(person.path("loaded"));
}

#[test]
fn no_descriptor_of_the_caller_is_open_in_a_command() {
    let person = Person::new();
    person.write(person.path("secret"), "descriptor-secret");
    let secret = std::fs::File::open(person.path("secret")).expect("it is there");
    let kept = rustix::io::fcntl_dupfd_cloexec(&secret, 40).expect("it can be copied");
    rustix::io::fcntl_setfd(&kept, rustix::io::FdFlags::empty()).expect("it can be set");
    let attempt = format!(
        "bash -c 'cat <&{0}; cat /proc/self/fd/{0}; for f in /proc/self/fd/*; do echo \"$f\"; done'; ls -l /proc/self/fd",
        kept.as_raw_fd()
    );
    let said = output_of(&person, &[], &attempt);
    holds_no("descriptor-secret", &[&said]);
    assert!(said.contains("fd/0"), "{said}");
    holds_no(&format!("fd/{}\n", kept.as_raw_fd()), &[&said]);
}

#[test]
fn the_order_of_a_command_is_no_part_of_its_environment_and_no_secret_is_on_a_command_line() {
    let person = Person::new();
    let lines = [
        sh("env; echo lines; cat /proc/*/cmdline; echo others; cat /proc/1/environ"),
        done(),
    ];
    let flags = ["--sandbox-env", "HANDED_SECRET"];
    let ended = run_with(&person, &flags, &lines, |command| {
        command.env("HANDED_SECRET", "value-of-the-variable");
    });
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let said = super::shown(&person);
    let (own, rest) = said.split_once("\\nlines").expect("it was tried");
    assert!(
        own.contains("HANDED_SECRET=value-of-the-variable"),
        "{said}"
    );
    let (lines, _) = rest.split_once("others\\n").expect("it was tried");
    assert!(lines.contains("cmdline"), "{said}");
    holds_no("value-of-the-variable", &[lines]);
    holds_no("BONDED_ORDER", &[&said]);
    holds_no("BONDED_VARIABLE", &[&said]);
}
