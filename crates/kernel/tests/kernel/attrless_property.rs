//! Whatever a model writes, reading it comes to an end, and to nothing that was not written.

use bonded_kernel::{Element, InstructionRules, read_instructions};
use proptest::prelude::*;

/// What hostile replies are made of.
const PIECES: [&str; 34] = [
    "<",
    ">",
    "</",
    "/>",
    "<!",
    "<!--",
    "-->",
    "<![CDATA[",
    "]]>",
    "<?",
    "?>",
    "&lt;",
    "&amp",
    "ram_add",
    "<ram_add>",
    "</ram_add>",
    "<ram_add ",
    "<key>",
    "</key>",
    "<value>",
    "</value>",
    "<value",
    "<x>",
    "</x>",
    "<x a=\"",
    "<record_search>",
    "</record_search>",
    "<ids>",
    "</ids>",
    "<id>",
    "\n",
    " ",
    "ä",
    "<!DOCTYPE",
];

fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        8 => prop::sample::select(PIECES.to_vec()).prop_map(str::to_owned),
        1 => any::<String>(),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

fn rules(strict: bool) -> InstructionRules<'static> {
    InstructionRules {
        allowed: &[],
        strict,
        instructions_max: 5,
    }
}

proptest! {
    #[test]
    fn any_text_gives_bounded_instructions_or_a_fault_with_a_line_of_the_text(
        text in hostile(),
        strict: bool,
    ) {
        match read_instructions(&text, rules(strict)) {
            Ok(read) => {
                prop_assert!(read.items.len() <= 5 + 20);
                let written: usize = read.items.iter().map(|item| match item {
                    Element::Instruction { arguments, .. } => arguments.to_string().len() / 8,
                    Element::Dropped(_) => 0,
                }).sum();
                prop_assert!(written <= text.len() + 64);
            }
            Err(fault) => {
                let lines = text.matches('\n').count() as u32 + 1;
                prop_assert!((1..=lines).contains(&fault.line));
                prop_assert!(fault.to_string().len() < 500);
            }
        }
    }

    #[test]
    fn what_is_read_strictly_is_read_the_same_leniently(text in hostile()) {
        if let Ok(strict) = read_instructions(&text, rules(true)) {
            prop_assert_eq!(read_instructions(&text, rules(false)), Ok(strict));
        }
    }

    #[test]
    fn a_value_in_character_data_comes_back_as_it_was_written(value in any::<String>()) {
        let wrapped = value.replace("]]>", "]]]]><![CDATA[>");
        let text = format!("<ram_add><key>k</key><value><![CDATA[{wrapped}]]></value></ram_add>");
        let read = read_instructions(&text, rules(true)).expect("one good instruction");
        let Some(Element::Instruction { arguments, .. }) = read.items.first() else {
            unreachable!("{read:?}");
        };
        let expected = value.replace("\r\n", "\n");
        prop_assert_eq!(arguments["value"].as_str(), Some(expected.trim()));
    }
}

/// Depth is no recursion, and what is opened for ever is looked at once: a quadratic reading of these would not
/// end while anybody waits.
#[test]
fn long_replies_of_one_hostile_kind_are_read_to_their_end() {
    const COUNT: usize = 200_000;
    for piece in [
        "<x>",
        "<x ",
        "</x>",
        "<",
        "<ram_add>",
        "<ram_add><key>",
        "<!--",
        "<![CDATA[",
        "<?",
        "&lt;",
        "<x/>",
        "<ram_add/>",
        "<value>",
        "</value>",
        "<x \"",
        "<ram_add><key>k</key><value>",
        "<a><b></a></b>",
    ] {
        let _ = read_instructions(&piece.repeat(COUNT), rules(false));
        let inside = format!("<ram_add><key>{}</key></ram_add>", piece.repeat(COUNT));
        let _ = read_instructions(&inside, rules(false));
    }
}
