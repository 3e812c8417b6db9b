//! Cells on a real kernel: what they say and how they end.

use junto_kernel::{CellEnd, Piece};
use serde_json::json;

use crate::kernels::{Place, cell};

#[tokio::test]
async fn state_lasts_and_everything_said_arrives() {
    let place = Place::new();
    let kernel = place.kernel().await;
    let said = cell(&kernel, "import sys\nx = 20\nprint('out')\nprint('err', file=sys.stderr)").await;
    assert_eq!((said.stdout.as_str(), said.stderr.as_str()), ("out\n", "err\n"));
    assert_eq!((said.end(), said.state_lost()), (&CellEnd::Done, false));
    let said = cell(&kernel, "x += 1\nx * 2").await;
    assert_eq!(said.result.as_deref(), Some("42"));
    let said = cell(&kernel, "print('before')\n1 / 0").await;
    assert_eq!(said.stdout, "before\n");
    assert_eq!(said.error, Some(("ZeroDivisionError".to_owned(), "division by zero".to_owned())));
    assert!(said.traceback.contains("1 / 0") && !said.traceback.contains('\u{1b}'), "{}", said.traceback);
    assert_eq!((said.end(), said.state_lost()), (&CellEnd::Failed, false));
    kernel.close().await;
    assert_eq!(place.left().await, (vec![], 0));
}

#[tokio::test]
async fn every_kind_of_output_arrives() {
    let place = Place::new();
    let kernel = place.kernel().await;
    let code = "
from IPython.display import display, HTML, JSON, SVG, Image
display(HTML('<b>x</b>'), JSON([1]), SVG('<svg xmlns=\"http://www.w3.org/2000/svg\"/>'))
display(Image(data=b'\\x89PNG\\r\\n\\x1a\\n' + b'0' * 30, format='png'))
display(Image(data=b'\\xff\\xd8\\xff' + b'0' * 30, format='jpeg'))
display('text')
";
    let said = cell(&kernel, code).await;
    let image = |media_type: &str, bytes: Vec<u8>| Piece::Image { media_type: media_type.to_owned(), bytes };
    let padded = |start: &[u8]| [start, &[b'0'; 30]].concat();
    let text = |text: &str| Piece::Display { text: text.to_owned() };
    let expected = [
        Piece::Html("<b>x</b>".to_owned()),
        text("<IPython.core.display.HTML object>"),
        Piece::Json(json!([1])),
        text("<IPython.core.display.JSON object>"),
        image("image/svg+xml", b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>".to_vec()),
        image("image/png", padded(b"\x89PNG\r\n\x1a\n")),
        image("image/jpeg", padded(b"\xff\xd8\xff")),
        text("'text'"),
    ];
    assert_eq!(said.others, expected, "{said:?}");
}
