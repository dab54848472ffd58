//! The key that receipts are signed with.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::thread;

use bonded_work::key::{KeyError, PublicKey, SigningKey};

use crate::publish_world::{World, chmod, text, write};

#[test]
fn a_key_is_made_once_for_its_owner_alone_and_found_again() {
    let world = World::new();
    let file = world.beside("keys/ed25519.key");
    let keys: Vec<PublicKey> = thread::scope(|scope| {
        let make = || SigningKey::open_or_create(&file).expect("a key");
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(make)).collect();
        let keys = threads
            .into_iter()
            .map(|thread| thread.join().expect("it ends"));
        keys.map(|key| key.public()).collect()
    });
    assert!(keys.windows(2).all(|pair| pair[0] == pair[1]), "{keys:?}");
    let mode = fs::metadata(&file)
        .expect("it is there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o7777, 0o600);
    let left = fs::read_dir(world.beside("keys")).expect("it can be read");
    assert_eq!(left.count(), 1);
}

#[test]
fn a_signature_holds_for_its_bytes_and_its_key_alone() {
    let world = World::new();
    let [one, other] = ["one", "other"]
        .map(|name| SigningKey::open_or_create(&world.beside(name)).expect("a key"));
    let signature = one.sign(b"receipt");
    let mut damaged = signature.clone();
    damaged[10] ^= 1;
    for (key, bytes, signature, holds) in [
        (one.public(), &b"receipt"[..], &signature[..], true),
        (one.public(), b"Receipt", &signature, false),
        (other.public(), b"receipt", &signature, false),
        (one.public(), b"receipt", &damaged, false),
        (one.public(), b"receipt", &signature[..63], false),
        (one.public(), b"receipt", b"", false),
    ] {
        assert_eq!(key.verify(bytes, signature), holds);
    }
}

#[test]
fn a_public_key_is_read_as_it_is_written_and_nothing_else_is() {
    let world = World::new();
    let key = SigningKey::open_or_create(&world.beside("key")).expect("a key");
    let pem = key.public().to_pem();
    assert_eq!(PublicKey::from_pem(&pem), Ok(key.public()));
    let private = fs::read_to_string(world.beside("key")).expect("it is text");
    for text in [
        "",
        "key",
        &private,
        &pem.replace("MCow", "MCox"),
        &pem[..60],
    ] {
        assert!(PublicKey::from_pem(text).is_err(), "{text}");
    }
}

#[test]
fn openssl_verifies_a_signature_and_names_the_key_alike() {
    let world = World::new();
    let key = SigningKey::open_or_create(&world.beside("key")).expect("a key");
    let [public, signed, signature] =
        ["public.pem", "signed", "signature"].map(|name| world.beside(name));
    fs::write(&public, key.public().to_pem()).expect("a file can be written");
    fs::write(&signed, "receipt").expect("a file can be written");
    fs::write(&signature, key.sign(b"receipt")).expect("a file can be written");
    let script = format!(
        "openssl pkeyutl -verify -rawin -pubin -inkey {0} -in {1} -sigfile {2} >&2 && \
         openssl pkey -pubin -in {0} -outform DER | sha256sum",
        text(&public),
        text(&signed),
        text(&signature)
    );
    let output = Command::new("sh").args(["-c", &script]).output();
    let output = output.expect("a shell can be run");
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("not found") {
        return;
    }
    assert!(output.status.success(), "{said}");
    let id = String::from_utf8_lossy(&output.stdout);
    assert_eq!(id.split(' ').next(), Some(key.public().id().as_str()));
}

#[test]
fn a_key_that_others_can_read_or_that_is_damaged_is_refused_and_stays() {
    let world = World::new();
    let directory = world.beside("");
    let file = world.beside("key");
    SigningKey::open_or_create(&file).expect("a key");
    let good = fs::read_to_string(&file).expect("it is text");
    for mode in [0o640, 0o604, 0o660, 0o644] {
        chmod(&directory, "key", mode);
        let error = SigningKey::open_or_create(&file).expect_err("others can read it");
        assert!(matches!(error, KeyError::Exposed { .. }), "{error}");
        assert!(error.to_string().contains("chmod 600"), "{error}");
    }
    chmod(&directory, "key", 0o600);
    let mut turned = good.clone().into_bytes();
    turned[60] = if turned[60] == b'A' { b'B' } else { b'A' };
    let turned = String::from_utf8(turned).expect("it is text");
    for content in ["", "key", &good[..good.len() / 2], &turned] {
        write(&directory, "key", content);
        let error = SigningKey::open_or_create(&file).expect_err("it is damaged");
        assert!(
            matches!(error, KeyError::Damaged { .. }),
            "{error}: {content}"
        );
        let kept = fs::read_to_string(&file).expect("it is text");
        assert_eq!(kept, content);
    }
}
