//! The person's terminals.

use super::output_of;
use crate::person::Person;
use crate::witness::holds_no;

#[test]
fn a_command_has_no_terminal_of_the_person_and_may_make_its_own() {
    let person = Person::new();
    let attempt = "(echo evil > /dev/tty) 2>&1; ls -l /dev/pts; ls /dev; \
         python3 -c 'import pty, os; m, s = pty.openpty(); print(\"own\", os.ttyname(s))'";
    let said = output_of(&person, &[], attempt);
    assert!(said.contains("own /dev/pts/0"), "{said}");
    for device in ["vcs", "tty0", "console", "sda", "vda", "kmsg", "input"] {
        holds_no(&format!("\\n{device}\\n"), &[&said]);
    }
}

#[test]
fn a_command_is_in_a_session_of_its_own() {
    let person = Person::new();
    // Session and terminal are the sixth and seventh field.
    let said = output_of(&person, &[], "cut -d ' ' -f 6,7 /proc/self/stat");
    assert!(
        said.contains("0 0\\\\n") || said.contains("0 0\\n"),
        "{said}"
    );
}
