//! What a model says, as it is written, wrapped and once.

use serde_json::json;

use crate::place::Place;
use crate::provider::{self, Provider};
use crate::screen::{asking, check};
use crate::terminal::Size;

#[test]
fn text_appears_as_it_is_written_and_the_answer_stands_there_once() {
    let (place, provider) = (Place::new(), Provider::start());
    let text = "A leap year has 366 days. It comes every fourth year, but for centuries that cannot be divided by 400.";
    provider.say([provider::streamed_text(text, 3).paused_ms(40)]);
    provider.then_always(provider::call("done", json!({ "reason": text })));
    let mut terminal = asking(&place, &provider, &[], Size::USUAL);
    terminal.wait_until("the beginning", |screen| {
        screen.contains("A leap year has 3") && !screen.contains("by 400.")
    });
    terminal.wait_for_end();
    check("streaming", &terminal.coloured());
    let (code, screen) = terminal.end();
    assert_eq!(code, Some(0), "{screen}");
    assert_eq!(screen.matches("every fourth year").count(), 1, "{screen}");
}

#[test]
fn without_streaming_the_text_comes_whole_and_the_answer_stands_there_once() {
    let (place, provider) = (Place::new(), Provider::start());
    provider.say([provider::call("list", json!({}))]);
    provider.then_always(provider::call("done", json!({ "reason": "366 days" })));
    let terminal = asking(&place, &provider, &["--no-stream"], Size::USUAL);
    let (code, screen) = terminal.end();
    assert_eq!(
        (code, screen.matches("366 days").count()),
        (Some(0), 1),
        "{screen}"
    );
    assert!(provider.asked().iter().all(|asked| !asked.is_streamed()));
}

#[test]
fn a_reply_that_breaks_off_stays_and_is_said_to_be_discarded() {
    let (place, provider) = (Place::new(), Provider::start());
    let begun =
        json!({ "choices": [{ "index": 0, "delta": { "content": "A leap year has 366 " } }] });
    let body = format!("data: {begun}\n\n");
    provider.say([provider::raw(200, "text/event-stream", body)]);
    provider.then_always(provider::call("done", json!({ "reason": "366 days" })));
    let mut terminal = asking(&place, &provider, &[], Size::USUAL);
    terminal.wait_for_end();
    check("discarded", &terminal.coloured());
}

#[test]
fn a_window_that_changes_its_width_keeps_every_line_once() {
    let (place, provider) = (Place::new(), Provider::start());
    let words: Vec<String> = (100..220).map(|number| format!("word{number}")).collect();
    let text = words.join(" ");
    provider.say([provider::streamed_text(&text, 12).paused_ms(20)]);
    provider.then_always(provider::call("done", json!({ "reason": "said" })));
    let mut terminal = asking(&place, &provider, &[], Size(50, 60));
    terminal.wait_for("word120");
    terminal.resize(Size(100, 60));
    let wide = terminal.wait_for("word160");
    for word in &words[..60] {
        assert_eq!(wide.matches(word.as_str()).count(), 1, "{word} in\n{wide}");
    }
    // This terminal cuts what stands there when it becomes narrow; what comes then is wrapped for its new width.
    terminal.resize(Size(50, 60));
    terminal.wait_for_end();
    let narrow = terminal.screen();
    for word in &words[80..] {
        assert_eq!(
            narrow.matches(word.as_str()).count(),
            1,
            "{word} in\n{narrow}"
        );
    }
    assert!(!narrow.contains("answering"), "{narrow}");
}

#[test]
fn wide_letters_are_wrapped_where_they_end() {
    let (place, provider) = (Place::new(), Provider::start());
    provider.say([provider::streamed_text(&"日本語の文章 🦀 ".repeat(12), 2)]);
    provider.then_always(provider::call("done", json!({ "reason": "done" })));
    let mut terminal = asking(&place, &provider, &[], Size(41, 40));
    terminal.wait_for_end();
    check("wide-letters", &terminal.coloured());
}
