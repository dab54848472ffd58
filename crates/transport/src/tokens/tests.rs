use Vocabulary::*;

use super::*;

#[test]
fn models_have_the_vocabulary_that_their_names_tell() {
    let cases = [
        ("gpt-4o-mini", O200k),
        ("gpt-4.1", O200k),
        ("openai/gpt-5-nano", O200k),
        ("o3-mini", O200k),
        ("chatgpt-4o-latest", O200k),
        ("gpt-4", Cl100k),
        ("gpt-4-turbo", Cl100k),
        ("openai/gpt-3.5-turbo", Cl100k),
        ("text-embedding-3-small", Cl100k),
        ("claude-sonnet-4", Unknown),
        ("olmo", Unknown),
        ("", Unknown),
    ];
    for (model, expected) in cases {
        assert_eq!(vocabulary_of(model), expected, "{model}");
    }
}

#[test]
fn settings_name_a_vocabulary_or_are_refused_with_the_choices() {
    let cases = [
        ("tiktoken:gpt-4o", Some(O200k)),
        (" tiktoken: gpt-4 ", Some(Cl100k)),
        ("tiktoken:unheard-of", Some(Unknown)),
        ("o200k_base", Some(O200k)),
        ("cl100k_base", Some(Cl100k)),
        ("approximate", Some(Unknown)),
        ("bytes", Some(Unknown)),
        ("anthropic", None),
        ("", None),
    ];
    for (name, expected) in cases {
        assert_eq!(vocabulary_named(name).ok(), expected, "{name}");
    }
    let refused = vocabulary_named("sentencepiece").map_err(|error| error.to_string());
    assert!(
        refused.is_err_and(|said| said.contains("sentencepiece") && said.contains("o200k_base"))
    );
}

#[test]
fn nothing_is_counted_without_a_vocabulary() {
    assert_eq!(count(Unknown, "some words"), None);
}

#[test]
fn pieces_are_short_end_before_white_space_and_together_are_the_text() {
    let texts = [
        String::new(),
        "short".into(),
        "word ".repeat(1000),
        "x".repeat(5000),
        "é".repeat(3000),
        format!("x{}", "🦀".repeat(2000)),
        format!(" {}", "y".repeat(3000)),
        "\n".repeat(3000),
    ];
    for text in texts {
        let cut: Vec<&str> = pieces(&text).collect();
        assert_eq!(cut.concat(), text);
        assert!(cut.iter().all(|piece| piece.len() <= PIECE_BYTES_MAX));
        if text.starts_with("word") {
            let later = cut.iter().skip(1);
            assert!(later.clone().all(|piece| piece.starts_with(' ')));
        }
    }
}

#[cfg(feature = "tokenizers")]
mod counted {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn short_texts_have_the_counts_that_are_published() {
        let cases = [
            ("", 0, 0),
            ("hello world", 2, 2),
            ("tiktoken is great!", 6, 6),
            ("antidisestablishmentarianism", 6, 6),
            ("2 + 2 = 4", 7, 7),
            ("お誕生日おめでとう", 9, 8),
        ];
        for (text, older, newer) in cases {
            assert_eq!(count(Cl100k, text), Some(older), "{text}");
            assert_eq!(count(O200k, text), Some(newer), "{text}");
        }
    }

    #[test]
    fn hostile_texts_are_counted_quickly_and_pieces_never_lower_the_count() {
        // Bytes that nobody wrote, as a text.
        let mut state: u64 = 1;
        let noise: String = std::iter::from_fn(|| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            char::from_u32((state >> 40) as u32 % 0xD7FF)
        })
        .take(60_000)
        .collect();
        let texts = [
            "a".repeat(200_000),
            "=".repeat(200_000),
            " ".repeat(200_000),
            noise,
        ];
        for text in texts {
            for vocabulary in [Cl100k, O200k] {
                let begun = Instant::now();
                let counted = count(vocabulary, &text);
                assert!(begun.elapsed() < Duration::from_secs(20));
                let whole = counter(vocabulary).expect("a vocabulary")(&text);
                assert!(counted >= Some(whole), "{counted:?} {whole}");
            }
        }
    }
}
