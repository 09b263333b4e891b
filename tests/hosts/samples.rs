//! Generated files: small documents as common programs write them.

use std::io::Write;

use lopdf::{Dictionary, Document, EncryptionState, EncryptionVersion, Object, Permissions, Stream, dictionary};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// Returns a small file that takes long to read: a form of many operators, drawn nine times.
pub fn slow_pdf() -> Vec<u8> {
    let form = dictionary! { "Subtype" => "Form" };
    Pdf::new().form(form, &"1 2 3 4 5 6 m ".repeat(4_000_000)).page("/X1 Do ".repeat(9)).packed()
}

/// `<0001>` is ă, `<0002>` is ț, and `<0010>` to `<0012>` are x to z.
const TABLE: &str = "/CIDInit /ProcSet findresource begin begincmap 1 begincodespacerange <0000> <FFFF> \
    endcodespacerange 2 beginbfchar <0001> <0103> <0002> <021B> endbfchar \
    1 beginbfrange <0010> <0012> <0078> endbfrange endcmap";

/// A document under construction, page by page.
pub struct Pdf {
    /// The document, with the objects added so far.
    pub document: Document,
    /// Fonts and forms that all pages share.
    pub resources: Dictionary,
    pages: Vec<Object>,
    root: lopdf::ObjectId,
}

impl Pdf {
    /// Creates a document with three fonts: F1 of single bytes, half as wide as they are high; F2 of byte pairs with a
    /// Unicode table; F3 with glyphs at codes of its own and no widths.
    pub fn new() -> Self {
        let mut document = Document::with_version("1.5");
        let root = document.new_object_id();
        let widths = vec![Object::Integer(500); 224];
        let f1 = document.add_object(dictionary! {
            "Type" => "Font", "Subtype" => "Type1", "BaseFont" => "Helvetica", "Encoding" => "WinAnsiEncoding",
            "FirstChar" => 32, "Widths" => widths,
        });
        let table = document.add_object(Stream::new(Dictionary::new(), TABLE.into()));
        let descendant = document.add_object(dictionary! {
            "Type" => "Font", "Subtype" => "CIDFontType2", "DW" => 500,
            "W" => vec![1.into(), Object::Array(vec![500.into(), 500.into()]), 16.into(), 18.into(), 500.into()],
        });
        let f2 = document.add_object(dictionary! {
            "Type" => "Font", "Subtype" => "Type0", "Encoding" => "Identity-H", "ToUnicode" => table,
            "DescendantFonts" => vec![Object::Reference(descendant)],
        });
        let glyphs = ["fi", "uni0103", "nothing.known", "Euro", "a.alt"].map(|name| Object::Name(name.into()));
        let differences = [vec![Object::Integer(1)], glyphs.to_vec()].concat();
        let f3 = document.add_object(dictionary! {
            "Type" => "Font", "Subtype" => "Type1", "BaseFont" => "Times",
            "Encoding" => dictionary! { "Type" => "Encoding", "Differences" => differences },
        });
        let resources = dictionary! { "Font" => dictionary! { "F1" => f1, "F2" => f2, "F3" => f3 } };
        Self { document, resources, pages: Vec::new(), root }
    }

    /// Adds a page with this content stream.
    pub fn page(mut self, content: impl Into<Vec<u8>>) -> Self {
        let content = self.document.add_object(Stream::new(Dictionary::new(), content.into()));
        let page = self.document.add_object(dictionary! {
            "Type" => "Page", "Parent" => self.root, "Contents" => content,
        });
        self.pages.push(page.into());
        self
    }

    /// Adds a form named X1.
    pub fn form(mut self, form: Dictionary, content: &str) -> Self {
        let form = self.document.add_object(Stream::new(form, content.into()));
        self.resources.set("XObject", dictionary! { "X1" => form });
        self
    }

    /// Sets the document's title.
    pub fn title(mut self, title: &str) -> Self {
        let info = self.document.add_object(dictionary! { "Title" => lopdf::text_string(title) });
        self.document.trailer.set("Info", info);
        self
    }

    /// Returns the document with its page tree.
    pub fn finish(mut self) -> Document {
        let count = i64::try_from(self.pages.len()).expect("few pages");
        let resources = self.document.add_object(self.resources);
        let pages = dictionary! {
            "Type" => "Pages", "Kids" => self.pages, "Count" => count, "Resources" => resources,
        };
        self.document.objects.insert(self.root, pages.into());
        let catalog = self.document.add_object(dictionary! { "Type" => "Catalog", "Pages" => self.root });
        self.document.trailer.set("Root", catalog);
        self.document
    }

    /// Returns the file, its streams compressed.
    pub fn packed(self) -> Vec<u8> {
        let mut document = self.finish();
        document.compress();
        save(document)
    }
}

/// Returns the bytes of a document.
pub fn save(mut document: Document) -> Vec<u8> {
    let mut bytes = Vec::new();
    document.save_to(&mut bytes).expect("a document");
    bytes
}

/// Returns a file of one page.
pub fn pdf(content: &str) -> Vec<u8> {
    save(Pdf::new().page(content).finish())
}

/// Returns a file that opens with this password.
pub fn encrypted_pdf(password: &str) -> Vec<u8> {
    let mut document = Pdf::new().page("BT /F1 10 Tf (secret) Tj ET").finish();
    let id = Object::string_literal("0123456789abcdef");
    document.trailer.set("ID", vec![id.clone(), id]);
    let version = EncryptionVersion::V2 {
        document: &document,
        owner_password: "owner",
        user_password: password,
        key_length: 128,
        permissions: Permissions::all(),
    };
    let state = EncryptionState::try_from(version).expect("a key");
    document.encrypt(&state).expect("an encrypted document");
    save(document)
}

/// Returns a small PDF with a list that takes many times its size in memory when read.
pub fn hungry_pdf() -> Vec<u8> {
    Pdf::new().page(format!("BT /F1 10 Tf [{}] TJ ET", "1 ".repeat(1 << 23))).packed()
}

/// Returns a ZIP archive of these parts.
pub fn archive(method: CompressionMethod, parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(method);
    for (name, content) in parts {
        writer.start_file(*name, options).expect("a part");
        writer.write_all(content).expect("its content");
    }
    writer.finish().expect("an archive").into_inner()
}

/// Returns the main part of a Word file with this body.
pub fn word(body: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n<w:document xmlns:w=\"w\" xmlns:mc=\"mc\">\
         <w:body>{body}</w:body></w:document>"
    )
}

/// Returns a Word file with this body and a title.
pub fn docx(body: &str) -> Vec<u8> {
    let main = word(body);
    let properties = "<cp:coreProperties xmlns:dc=\"dc\"><dc:creator>me</dc:creator><dc:title>Shoes &amp; hats\
        </dc:title></cp:coreProperties>";
    let types = "<Types/>";
    let parts =
        [("[Content_Types].xml", types), ("docProps/core.xml", properties), ("word/document.xml", main.as_str())];
    archive(CompressionMethod::Deflated, &parts.map(|(name, text)| (name, text.as_bytes())))
}
