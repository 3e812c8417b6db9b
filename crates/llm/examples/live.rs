//! The client against the real providers, for whoever has keys: `cargo xtask live`.
//!
//! Each provider whose key is in the environment is asked a few short questions with its latest
//! model (or `JUNTO_LIVE_MODEL`); a run costs a few cents. Without keys it says so and ends well.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "an example prints and reads its setting"
)]

use std::process::ExitCode;

use futures_util::StreamExt;
use junto_llm::generate::{Generate, Tool, generate, generate_object, stream};
use junto_llm::{CallCx, Client, Effort, Error, ErrorKind, Media, Message, Part, Request, Role, StreamEvent};
use serde_json::json;

#[tokio::main]
async fn main() -> ExitCode {
    let client = match Client::from_env() {
        Ok(client) => client,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    };
    let providers: Vec<String> = client.provider_names().map(str::to_owned).collect();
    if providers.is_empty() {
        println!("no keys: set OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY to run the live matrix");
        return ExitCode::SUCCESS;
    }
    let mut failed = 0;
    for provider in providers {
        let run = Run { client: client.clone(), provider };
        for (row, result) in [
            ("plain text", run.plain().await),
            ("streamed text", run.streamed().await),
            ("image", run.image().await),
            ("tool loop", run.tools().await),
            ("streamed tool loop", run.streamed_tools().await),
            ("structured output", run.object().await),
            ("reasoning", run.reasoning().await),
            ("wrong model", run.wrong_model().await),
        ] {
            match result {
                Ok(note) => println!("{:10} {row:20} ok    {note}", run.provider),
                Err(error) => {
                    failed += 1;
                    println!("{:10} {row:20} FAIL  {error}", run.provider);
                }
            }
        }
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

struct Run {
    client: Client,
    provider: String,
}

impl Run {
    fn ask(&self, messages: impl Into<Vec<Message>>) -> Request {
        let request = Request::of(messages).provider(&self.provider).max_tokens(2000);
        Request { model: std::env::var("JUNTO_LIVE_MODEL").ok(), ..request }
    }

    async fn plain(&self) -> Result<String, Error> {
        let response = self
            .client
            .complete(self.ask([Message::user("Answer with the one word: yes")]), &CallCx::new())
            .await?;
        expect(response.text().to_lowercase().contains("yes"), &response.text())
    }

    async fn streamed(&self) -> Result<String, Error> {
        let request = self.ask([Message::user("Count from one to five in words.")]);
        let response = self.client.stream(request, &CallCx::new()).await?.into_response().await?;
        expect(
            response.text().to_lowercase().contains("three") && response.usage.output > 0,
            &response.text(),
        )
    }

    async fn image(&self) -> Result<String, Error> {
        let dot = include_bytes!("red.png");
        let parts = vec![Part::text("Which colour is this? One word."), Part::image(Media::bytes(&dot[..]))];
        let response =
            self.client.complete(self.ask([Message::new(Role::User, parts)]), &CallCx::new()).await?;
        expect(response.text().to_lowercase().contains("red"), &response.text())
    }

    fn with_tools(&self) -> Result<Generate, Error> {
        let schema =
            json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
        let tool = Tool::new("get_temperature", "The temperature in a city, in degrees Celsius", schema)?
            .handler(|input| async move {
                Ok::<_, String>(if input.arguments["city"] == "Oslo" { "-4" } else { "31" })
            });
        let request =
            self.ask([Message::user("Use the tool for Oslo and for Cairo, then say which one is colder.")]);
        Ok(Generate::request(request).client(&self.client).tool(tool).max_tool_rounds(4))
    }

    async fn tools(&self) -> Result<String, Error> {
        let result = generate(self.with_tools()?).await?;
        expect(result.text().contains("Oslo") && result.steps.len() > 1, &result.text())
    }

    async fn streamed_tools(&self) -> Result<String, Error> {
        let mut events = stream(self.with_tools()?).await?;
        let mut text = String::new();
        while let Some(event) = events.next().await {
            if let StreamEvent::TextDelta { text: more, .. } = event? {
                text += &more;
            }
        }
        expect(text.contains("Oslo"), &text)
    }

    async fn object(&self) -> Result<String, Error> {
        let schema = json!({
            "type": "object",
            "properties": {"capital": {"type": "string"}, "letters": {"type": "integer"}},
            "required": ["capital", "letters"],
            "additionalProperties": false
        });
        let options = Generate::request(
            self.ask([Message::user("The capital of France and how many letters it has.")]),
        );
        let object = generate_object(options.client(&self.client), "capital", schema).await?.object;
        expect(object["capital"] == "Paris", &object.to_string())
    }

    async fn reasoning(&self) -> Result<String, Error> {
        let request = Request {
            reasoning_effort: Some(Effort::Low),
            max_tokens: Some(4000),
            ..self.ask([Message::user("What is 17 * 23?")])
        };
        let response = self.client.complete(request, &CallCx::new()).await?;
        expect(response.text().contains("391"), &format!("{:?}", response.usage))
    }

    async fn wrong_model(&self) -> Result<String, Error> {
        let request = self.ask([Message::user("hi")]).model("no-such-model-0");
        match self.client.complete(request, &CallCx::new()).await {
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidRequest) => {
                Ok(error.to_string())
            }
            Err(error) => Err(error),
            Ok(response) => expect(false, &response.text()),
        }
    }
}

fn expect(holds: bool, seen: &str) -> Result<String, Error> {
    let seen: String = seen.chars().take(60).collect();
    if holds { Ok(seen) } else { Err(Error::new(ErrorKind::Unknown, format!("unexpected answer: {seen}"))) }
}
