//! async-graphql on axum, with the AWS SDK for Rust.

mod like;
mod loaders;
mod records;
mod schema;
mod table;

use async_graphql::dataloader::DataLoader;
use async_graphql::{EmptySubscription, Schema};
use async_graphql_axum::{GraphQLRequest, GraphQLResponse};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header::AUTHORIZATION};
use axum::serve::ListenerExt;
use axum::{Router, routing::post};
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde::Deserialize;

use crate::loaders::Reader;
use crate::schema::{MutationRoot, QueryRoot, Viewer};
use crate::table::Table;

#[derive(Clone)]
struct Server {
    schema: Schema<QueryRoot, MutationRoot, EmptySubscription>,
    key: DecodingKey,
    validation: Validation,
}

#[derive(Deserialize)]
struct Claims {
    sub: String,
}

#[tokio::main]
async fn main() {
    let table = Table::new();
    // One loader for all requests, as the documentation shows: concurrent requests share batches.
    let loader = DataLoader::new(Reader(table.clone()), tokio::spawn).max_batch_size(table::BATCH);
    let schema = Schema::build(QueryRoot, MutationRoot, EmptySubscription)
        .data(loader)
        .data(table)
        .finish();
    let mut validation = Validation::new(Algorithm::HS256);
    validation.leeway = 30;
    validation.set_required_spec_claims(&["exp", "sub"]);
    let key = DecodingKey::from_secret(variable("AUTH_SECRET").as_bytes());
    let app = Router::new().route("/graphql", post(answer)).with_state(Server {
        schema,
        key,
        validation,
    });
    let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{}", variable("PORT")))
        .await
        .unwrap();
    let listener = listener.tap_io(|stream| stream.set_nodelay(true).unwrap_or_default());
    axum::serve(listener, app).await.unwrap();
}

async fn answer(
    State(server): State<Server>,
    headers: HeaderMap,
    request: GraphQLRequest,
) -> Result<GraphQLResponse, StatusCode> {
    let viewer = match headers.get(AUTHORIZATION) {
        None => Viewer(None),
        Some(value) => {
            let token = value
                .to_str()
                .ok()
                .and_then(|text| text.split_once(' '))
                .ok_or(StatusCode::UNAUTHORIZED)?
                .1;
            let decoded = jsonwebtoken::decode::<Claims>(token, &server.key, &server.validation);
            Viewer(Some(decoded.map_err(|_| StatusCode::UNAUTHORIZED)?.claims.sub))
        }
    };
    Ok(server.schema.execute(request.into_inner().data(viewer)).await.into())
}

pub fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}
