//! The command `chat`: holds a conversation with an assistant, a line a message, in a terminal or from a script.

use std::io::{BufRead, IsTerminal, Write};

use clap::Args;
use reqwest::{Client, Response};
use serde_json::{Map, Value, json};
use switchboard_core::account::token::TokenKind;

use super::remote::{block, client, fitting, refused, unsent};
use super::{Base, Failed, say};

/// Longest answer accepted, bytes.
const ANSWER_BYTES_MAX: usize = 8 << 20;

#[derive(Args)]
pub struct Chat {
    /// Id or UUID of the assistant
    assistant: String,
    #[command(flatten)]
    base: Base,
    /// API key of the account
    #[arg(long, env = "SWITCHBOARD_KEY", hide_env_values = true)]
    key: String,
    /// Go on with this conversation instead of beginning one
    #[arg(long, value_name = "UUID")]
    conversation: Option<String>,
    /// Variable of the conversation; repeatable
    #[arg(long = "variable", value_name = "NAME=VALUE", value_parser = variable, conflicts_with = "conversation")]
    variables: Vec<(String, String)>,
}

/// Parses a variable of the command line.
fn variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("it is not NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

/// Holds a conversation until standard input ends. With `--json` it prints one object for the beginning and one for each
/// answer; a refusal then ends it, as it does where the messages do not come from a terminal.
pub fn chat(chat: &Chat, json: bool) -> Result<(), Failed> {
    fitting("--key", &chat.key, &[TokenKind::ApiKey, TokenKind::Session])?;
    block(async {
        let client = client()?;
        let talk = Talk { client: &client, chat, json, is_typed: std::io::stdin().is_terminal() && !json };
        let uuid = talk.begin().await?;
        talk.prompt()?;
        for line in std::io::stdin().lock().lines() {
            let line = line?;
            if line.trim().is_empty() {
                talk.prompt()?;
                continue;
            }
            match talk.turn(&uuid, &line).await {
                Err(error) if talk.is_typed => eprintln!("switchboard: {error}"),
                done => done?,
            }
            talk.prompt()?;
        }
        Ok(())
    })
}

struct Talk<'c> {
    client: &'c Client,
    chat: &'c Chat,
    json: bool,
    /// Whether a person types the messages.
    is_typed: bool,
}

impl Talk<'_> {
    /// Begins the conversation, or finds the one to go on with; returns its UUID.
    async fn begin(&self) -> Result<String, Failed> {
        let key = &self.chat.key;
        let begun = if let Some(uuid) = &self.chat.conversation {
            let request = self.client.get(self.url(&format!("/{uuid}"))).bearer_auth(key);
            let found = self.answered(request.send().await).await?;
            json!({ "conversation_id": uuid, "history": found["history"] })
        } else {
            let named = self.chat.variables.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str())));
            let variables: Map<String, Value> = named.collect();
            let body = json!({ "assistant_id": self.chat.assistant, "type": "test", "variables": variables });
            let request = self.client.post(self.url("")).bearer_auth(key).header("content-type", "application/json");
            self.answered(request.body(body.to_string()).send().await).await?
        };
        let uuid = begun["conversation_id"].as_str().ok_or("the answer is no conversation")?.to_owned();
        if self.json {
            say(&json!({ "conversation_id": uuid, "history": begun["history"] }).to_string())?;
            return Ok(uuid);
        }
        eprintln!("Conversation {uuid}; go on with --conversation, end it with Ctrl-D.");
        for message in begun["history"].as_array().map(Vec::as_slice).unwrap_or_default() {
            let who = if message["role"] == "user" { "you" } else { "assistant" };
            say(&format!("{who}> {}", message["content"].as_str().unwrap_or_default()))?;
        }
        Ok(uuid)
    }

    /// Says a line, and shows the answer as it comes.
    async fn turn(&self, uuid: &str, line: &str) -> Result<(), Failed> {
        let request = self.client.post(self.url(&format!("/{uuid}/messages"))).bearer_auth(&self.chat.key);
        let request = request.header("accept", "text/event-stream").header("content-type", "application/json");
        let request = request.body(json!({ "message": line }).to_string());
        let reply = request.send().await.map_err(unsent(&self.chat.base))?;
        if !reply.status().is_success() {
            return Err(refused(reply.status().as_u16(), &reply.text().await?));
        }
        let answer = self.follow(reply).await?;
        if self.json {
            return say(&answer.to_string());
        }
        say("")?;
        for call in answer["function_calls"].as_array().map(Vec::as_slice).unwrap_or_default() {
            let text = |name: &str| call[name].as_str().unwrap_or_default().to_owned();
            say(&format!("  [{} {} → {}]", text("name"), call["arguments"], text("result")))?;
        }
        if answer["message"].is_null() {
            say("  [a person took over: the message is kept]")?;
        }
        Ok(())
    }

    /// Reads the frames of a turn; returns the answer in the last one.
    async fn follow(&self, mut reply: Response) -> Result<Value, Failed> {
        let (mut buffer, mut seen) = (Vec::new(), 0);
        let mut begun = false;
        while let Some(chunk) = reply.chunk().await? {
            buffer.extend_from_slice(&chunk);
            seen += chunk.len();
            if seen > ANSWER_BYTES_MAX {
                return Err("the service sends an answer that is too long".into());
            }
            while let Some(end) = buffer.windows(2).position(|pair| pair == b"\n\n") {
                let frame: Vec<u8> = buffer.drain(..end + 2).collect();
                let Some((event, data)) = read(&frame) else { continue };
                match event.as_str() {
                    "done" => return Ok(data),
                    "error" => {
                        if begun {
                            self.show("\n", &Value::from(""))?;
                        }
                        return Err(data["message"].as_str().unwrap_or("the turn failed").to_owned().into());
                    }
                    "delta" => self.show(if begun { "" } else { "assistant> " }, &data["text"])?,
                    _ if data["status"] == "running" => self.tool(&data["name"])?,
                    _ => {}
                }
                begun |= event == "delta";
            }
        }
        Err("the answer broke off".into())
    }

    fn show(&self, before: &str, text: &Value) -> Result<(), Failed> {
        if self.json {
            return Ok(());
        }
        print!("{before}{}", text.as_str().unwrap_or_default());
        Ok(std::io::stdout().flush()?)
    }

    fn tool(&self, name: &Value) -> Result<(), Failed> {
        if self.json { Ok(()) } else { say(&format!("  [{} …]", name.as_str().unwrap_or_default())) }
    }

    fn prompt(&self) -> Result<(), Failed> {
        if self.is_typed {
            print!("you> ");
            std::io::stdout().flush()?;
        }
        Ok(())
    }

    async fn answered(&self, reply: Result<Response, reqwest::Error>) -> Result<Value, Failed> {
        let reply = reply.map_err(unsent(&self.chat.base))?;
        let (status, text) = (reply.status(), reply.text().await?);
        if status.is_success() { Ok(serde_json::from_str(&text)?) } else { Err(refused(status.as_u16(), &text)) }
    }

    fn url(&self, rest: &str) -> String {
        format!("{}/conversations{rest}", self.chat.base.url)
    }
}

/// Reads the name and the data of a frame.
fn read(frame: &[u8]) -> Option<(String, Value)> {
    let text = std::str::from_utf8(frame).ok()?;
    let event = text.lines().find_map(|line| line.strip_prefix("event: "))?;
    let data = text.lines().find_map(|line| line.strip_prefix("data: "))?;
    Some((event.to_owned(), serde_json::from_str(data).ok()?))
}
