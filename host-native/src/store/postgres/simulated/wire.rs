//! The server's side of PostgreSQL's protocol, as far as the driver of this crate needs it.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio_postgres::types::Type;

/// A message of a client.
#[derive(Debug)]
pub enum ClientMessage {
    /// A text without parameters.
    Query(String),
    /// A statement is prepared under a name.
    Parse { name: String, text: String },
    /// A prepared statement is described.
    Describe(String),
    /// A prepared statement gets parameters.
    Bind { name: String, parameters: Vec<Option<Vec<u8>>> },
    /// What was bound last is run.
    Execute,
    /// A prepared statement is forgotten.
    Close,
    /// The answers so far are waited for.
    Sync,
    /// The client goes.
    Terminate,
}

/// A value of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SqlCell {
    Null,
    Bool(bool),
    Int4(i32),
    Int8(i64),
    Text(String),
    Bytes(Vec<u8>),
    Array(Vec<Option<Vec<u8>>>),
}

/// A client's connection.
pub struct Connection {
    stream: DuplexStream,
    answer: Vec<u8>,
}

impl Connection {
    /// Takes a client's greeting, and lets it in.
    pub async fn greet(mut stream: DuplexStream) -> io::Result<Self> {
        let length = usize::try_from(stream.read_u32().await?).unwrap_or_default();
        stream.read_exact(&mut vec![0; length.saturating_sub(4)]).await?;
        let mut connection = Self { stream, answer: Vec::new() };
        connection.put(b'R', &0_u32.to_be_bytes());
        connection.ready(false).await?;
        Ok(connection)
    }

    /// Waits for the next message.
    pub async fn next(&mut self) -> io::Result<ClientMessage> {
        let kind = self.stream.read_u8().await?;
        let length = usize::try_from(self.stream.read_u32().await?).unwrap_or_default();
        let mut body = vec![0; length.saturating_sub(4)];
        self.stream.read_exact(&mut body).await?;
        let mut body = Body(&body);
        Ok(match kind {
            b'Q' => ClientMessage::Query(body.text()),
            b'P' => ClientMessage::Parse { name: body.text(), text: body.text() },
            b'D' => {
                body.take(1);
                ClientMessage::Describe(body.text())
            }
            b'B' => {
                let (_portal, name) = (body.text(), body.text());
                let formats = body.int2();
                body.take(2 * formats);
                let parameters = (0..body.int2()).map(|_| body.value()).collect();
                ClientMessage::Bind { name, parameters }
            }
            b'E' => ClientMessage::Execute,
            b'C' => ClientMessage::Close,
            b'S' => ClientMessage::Sync,
            b'X' => ClientMessage::Terminate,
            _ => return Err(io::Error::other(format!("a message {}", char::from(kind)))),
        })
    }

    /// Says that a statement was prepared, bound or closed.
    pub fn done(&mut self, kind: u8) {
        self.put(kind, &[]);
    }

    /// Describes a prepared statement.
    pub fn describe(&mut self, parameters: &[Type], columns: &[Type]) {
        let mut body = count(parameters.len()).to_vec();
        parameters.iter().for_each(|kind| body.extend(kind.oid().to_be_bytes()));
        self.put(b't', &body);
        if columns.is_empty() {
            return self.put(b'n', &[]);
        }
        let mut body = count(columns.len()).to_vec();
        for column in columns {
            // A name, no table, no column of one; its type, any length, no modifier; binary.
            body.extend(b"c\0\0\0\0\0\0\0");
            body.extend(column.oid().to_be_bytes());
            body.extend((-1_i16).to_be_bytes());
            body.extend((-1_i32).to_be_bytes());
            body.extend(1_i16.to_be_bytes());
        }
        self.put(b'T', &body);
    }

    /// Answers with rows.
    pub fn rows(&mut self, rows: &[Vec<SqlCell>]) {
        for row in rows {
            let mut body = count(row.len()).to_vec();
            row.iter().for_each(|cell| cell.write(&mut body));
            self.put(b'D', &body);
        }
    }

    /// Says that a statement is complete, and how many rows it concerned.
    pub fn complete(&mut self, rows: usize) {
        self.put(b'C', format!("SELECT {rows}\0").as_bytes());
    }

    /// Warns.
    pub fn warn(&mut self) {
        self.put(b'N', b"SWARNING\0VWARNING\0C01000\0Mthe wait for the standby was cancelled\0\0");
    }

    /// Refuses a statement with a code.
    pub fn refuse(&mut self, code: &str) {
        self.put(b'E', format!("SERROR\0VERROR\0C{code}\0Mrefused\0\0").as_bytes());
    }

    /// Sends the answers, and says that the server is ready.
    pub async fn ready(&mut self, is_in_transaction: bool) -> io::Result<()> {
        self.put(b'Z', if is_in_transaction { b"T" } else { b"I" });
        self.stream.write_all(&std::mem::take(&mut self.answer)).await
    }

    fn put(&mut self, kind: u8, body: &[u8]) {
        self.answer.push(kind);
        self.answer.extend(u32::try_from(body.len() + 4).unwrap_or(u32::MAX).to_be_bytes());
        self.answer.extend(body);
    }
}

/// The rest of a message.
struct Body<'b>(&'b [u8]);

impl Body<'_> {
    fn take(&mut self, length: usize) -> Vec<u8> {
        let (taken, rest) = self.0.split_at(length.min(self.0.len()));
        self.0 = rest;
        taken.to_vec()
    }

    fn text(&mut self) -> String {
        let length = self.0.iter().position(|byte| *byte == 0).unwrap_or(self.0.len());
        let text = self.take(length);
        self.take(1);
        String::from_utf8_lossy(&text).into_owned()
    }

    fn int2(&mut self) -> usize {
        self.take(2).iter().fold(0, |number, byte| number << 8 | usize::from(*byte))
    }

    fn value(&mut self) -> Option<Vec<u8>> {
        let length = self.take(4).try_into().map_or(-1, i32::from_be_bytes);
        usize::try_from(length).ok().map(|length| self.take(length))
    }
}

impl SqlCell {
    fn write(&self, body: &mut Vec<u8>) {
        let value = match self {
            Self::Null => return body.extend((-1_i32).to_be_bytes()),
            Self::Bool(value) => vec![u8::from(*value)],
            Self::Int4(value) => value.to_be_bytes().to_vec(),
            Self::Int8(value) => value.to_be_bytes().to_vec(),
            Self::Text(value) => value.as_bytes().to_vec(),
            Self::Bytes(value) => value.clone(),
            Self::Array(values) => array(values),
        };
        length(value.len(), body);
        body.extend(value);
    }
}

fn array(values: &[Option<Vec<u8>>]) -> Vec<u8> {
    // One dimension, nulls, the elements' type; its length, from one.
    let mut body = [1_i32, 1].map(i32::to_be_bytes).concat();
    body.extend(Type::BYTEA.oid().to_be_bytes());
    length(values.len(), &mut body);
    body.extend(1_i32.to_be_bytes());
    for value in values {
        match value {
            Some(value) => {
                length(value.len(), &mut body);
                body.extend(value);
            }
            None => body.extend((-1_i32).to_be_bytes()),
        }
    }
    body
}

fn count(values: usize) -> [u8; 2] {
    u16::try_from(values).unwrap_or(u16::MAX).to_be_bytes()
}

fn length(bytes: usize, body: &mut Vec<u8>) {
    body.extend(i32::try_from(bytes).unwrap_or(i32::MAX).to_be_bytes());
}
