//! The real clients do real work through the gateway, each on a model of its own wire and on models of others.

use junto_llm::Wire;
use junto_testkit::cast::Who;

use crate::clients::scenarios;

macro_rules! table {
    ($($module:ident $who:ident { $($scenario:ident: $($wire:ident)*;)* })*) => {
        $(mod $module {
            use super::{Who, Wire, scenarios};

            $(mod $scenario {
                use super::{Who, Wire, scenarios};

                $(table! { @row $scenario $who $wire })*
            })*
        })*
    };
    (@row $scenario:ident $who:ident Anthropic) => { table! { @test on_anthropic $scenario $who Anthropic } };
    (@row $scenario:ident $who:ident Responses) => { table! { @test on_responses $scenario $who Responses } };
    (@row $scenario:ident $who:ident Gemini) => { table! { @test on_gemini $scenario $who Gemini } };
    (@row $scenario:ident $who:ident Chat) => { table! { @test on_chat $scenario $who Chat } };
    (@test $name:ident $scenario:ident $who:ident $wire:ident) => {
        #[tokio::test]
        async fn $name() {
            scenarios::$scenario(Who::$who, Wire::$wire).await;
        }
    };
}

table! {
    claude Claude {
        works: Anthropic Responses Gemini Chat;
        resumes: Anthropic Responses Gemini;
        waits: Anthropic Responses;
        delegates: Anthropic Responses Gemini;
        compacts: Anthropic Responses Gemini;
        works_for_long: Anthropic Responses Gemini;
    }
    codex Codex {
        works: Responses Anthropic Gemini Chat;
        resumes: Responses Anthropic Gemini;
        waits: Responses Anthropic;
        works_for_long: Anthropic;
    }
    gemini Gemini {
        works: Gemini Anthropic Responses Chat;
        resumes: Gemini Anthropic Responses;
        waits: Gemini Anthropic;
    }
}
