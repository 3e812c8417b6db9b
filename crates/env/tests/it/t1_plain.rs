//! The calls with paths as they are written.

use std::fs;

use junto_env::{ErrorKind, plain};

use crate::support::{HANG, check};

#[test]
fn files_are_written_read_and_seen() {
    check(async |place| {
        let env = &place.env;
        assert!(!plain::file_exists(env, "dir/f").await.unwrap());
        plain::write_file(env, "dir/f", "one\r\ntwo\nthree").await.unwrap();
        for (path, exists) in [("dir/f", true), ("./dir/../dir/f", true), ("dir", true), ("g", false)] {
            assert_eq!(plain::file_exists(env, path).await.unwrap(), exists, "{path}");
        }
        for (offset, limit, expected) in [
            (1, 2000, "one\r\ntwo\nthree"),
            (0, 1, "one\r\n"),
            (2, 1, "two\n"),
            (3, 9, "three"),
            (4, 9, ""),
            (1, 0, ""),
        ] {
            assert_eq!(plain::read_file(env, "dir/f", offset, limit).await.unwrap(), expected);
        }
        let listed = plain::list_directory(env, ".", 2).await.unwrap();
        let listed: Vec<_> = listed.iter().filter_map(|entry| entry.path.to_str()).collect();
        assert_eq!(listed, ["dir", "dir/f"]);
    });
}

#[test]
fn what_is_no_text_is_said() {
    check(async |place| {
        fs::write(place.at("picture"), b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR").unwrap();
        fs::write(place.at("archive"), b"PK\x03\x04\x14\0\0\0").unwrap();
        fs::File::create(place.at("log")).unwrap().set_len(plain::READ_LIMIT).unwrap();
        fs::write(place.at("large"), vec![b'x'; 1 + usize::try_from(plain::READ_LIMIT).unwrap()]).unwrap();
        for (path, kind, said) in [
            ("picture", ErrorKind::WrongKind, "picture: it is a picture (image/png)"),
            ("archive", ErrorKind::WrongKind, "archive: it is no text but a zip archive"),
            ("log", ErrorKind::WrongKind, "log: it is no text but binary data"),
            ("large", ErrorKind::TooLarge, "large: it has 10485761 bytes, and at most 10485760 are read"),
            (".", ErrorKind::WrongKind, "it is no regular file but a directory"),
            ("missing", ErrorKind::NotFound, "there is no such file"),
        ] {
            let error = plain::read_file(&place.env, path, 1, 10).await.unwrap_err();
            assert_eq!(error.kind(), kind);
            assert!(error.to_string().contains(said), "{error}");
        }
    });
}

#[test]
fn a_command_runs_in_the_working_directory() {
    check(async |place| {
        let result = plain::exec_command(&place.env, "pwd; exit 4", HANG).await.unwrap();
        assert_eq!(result.exit.code, Some(4));
        assert_eq!(
            result.stdout.head(),
            format!("{}\n", place.at("").display().to_string().trim_end_matches('/')).as_bytes()
        );
    });
}
