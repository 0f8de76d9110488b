//! Reads and writes items with the AWS SDK.

use std::collections::HashMap;
use std::sync::Arc;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{Config, Credentials, Region, StalledStreamProtectionConfig};
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{AttributeValue, KeysAndAttributes, TransactWriteItem};
use futures_util::future::try_join_all;
use tokio::sync::Semaphore;

pub const BATCH: usize = 100;
const CONNECTIONS: usize = 64;

pub type Item = HashMap<String, AttributeValue>;
pub type Failed = Arc<dyn std::error::Error + Send + Sync>;

#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Key {
    pub pk: String,
    pub sk: String,
}

impl Key {
    pub fn new(pk: impl Into<String>, sk: impl Into<String>) -> Self {
        Self {
            pk: pk.into(),
            sk: sk.into(),
        }
    }

    pub fn attributes(&self) -> Item {
        HashMap::from([("PK".into(), text(&self.pk)), ("SK".into(), text(&self.sk))])
    }
}

/// A range of records in order, or a page of it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Range {
    pub index: &'static str,
    pub pk: String,
    pub prefix: &'static str,
    pub newest_first: bool,
    pub limit: i32,
    pub start: Option<Vec<(String, String)>>,
}

/// The items of a page, and the start of the next one, if any.
pub struct Page {
    pub items: Vec<Item>,
    pub next: Option<Vec<(String, String)>>,
}

#[derive(Clone)]
pub struct Table {
    client: Client,
    pub name: String,
    // The client opens any number of connections.
    connections: Arc<Semaphore>,
}

impl Table {
    pub fn new() -> Self {
        let config = Config::builder()
            .behavior_version_latest()
            .region(Region::from_static("us-east-1"))
            .endpoint_url(crate::variable("DYNAMODB_ENDPOINT"))
            .credentials_provider(Credentials::new("local", "local", None, None, "local"))
            .http_client(aws_smithy_http_client::Builder::new().build_http())
            // Watches the throughput of every response.
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
            .build();
        let connections = Arc::new(Semaphore::new(CONNECTIONS));
        Self {
            client: Client::from_conf(config),
            name: crate::variable("TABLE_NAME"),
            connections,
        }
    }

    pub async fn get_item(&self, key: &Key, consistent: bool) -> Result<Option<Item>, Failed> {
        let _connection = self.connections.acquire().await.map_err(failed)?;
        let request = self
            .client
            .get_item()
            .table_name(&self.name)
            .set_key(Some(key.attributes()));
        Ok(request.consistent_read(consistent).send().await.map_err(failed)?.item)
    }

    /// Returns the items that exist, of any number of unique keys.
    pub async fn get_items(&self, keys: &[Key]) -> Result<HashMap<Key, Item>, Failed> {
        if let [key] = keys {
            let item = self.get_item(key, false).await?;
            return Ok(item.map(|item| (key.clone(), item)).into_iter().collect());
        }
        let batches = try_join_all(keys.chunks(BATCH).map(|batch| self.get_batch(batch))).await?;
        Ok(batches.into_iter().flatten().collect())
    }

    async fn get_batch(&self, keys: &[Key]) -> Result<Vec<(Key, Item)>, Failed> {
        let _connection = self.connections.acquire().await.map_err(failed)?;
        let wanted = keys.iter().map(Key::attributes).collect();
        let wanted = KeysAndAttributes::builder()
            .set_keys(Some(wanted))
            .build()
            .map_err(failed)?;
        let mut requests = Some(HashMap::from([(self.name.clone(), wanted)]));
        let mut found = Vec::with_capacity(keys.len());
        while requests.as_ref().is_some_and(|requests| !requests.is_empty()) {
            let answer = self
                .client
                .batch_get_item()
                .set_request_items(requests)
                .send()
                .await
                .map_err(failed)?;
            let items = answer
                .responses
                .and_then(|mut responses| responses.remove(&self.name))
                .unwrap_or_default();
            found.extend(
                items
                    .into_iter()
                    .map(|mut item| (Key::new(take(&mut item, "PK"), take(&mut item, "SK")), item)),
            );
            requests = answer.unprocessed_keys;
        }
        Ok(found)
    }

    pub async fn query(&self, range: &Range) -> Result<Page, Failed> {
        let _connection = self.connections.acquire().await.map_err(failed)?;
        let mut request = self
            .client
            .query()
            .table_name(&self.name)
            .key_condition_expression("#pk = :pk AND begins_with(#sk, :sk)")
            .expression_attribute_names("#pk", format!("{}PK", range.index))
            .expression_attribute_names("#sk", format!("{}SK", range.index))
            .expression_attribute_values(":pk", text(&range.pk))
            .expression_attribute_values(":sk", text(range.prefix))
            .scan_index_forward(!range.newest_first)
            .limit(range.limit);
        if !range.index.is_empty() {
            request = request.index_name(range.index);
        }
        for (name, value) in range.start.iter().flatten() {
            request = request.exclusive_start_key(name, text(value));
        }
        let answer = request.send().await.map_err(failed)?;
        let next = answer.last_evaluated_key.map(|mut key| {
            let names: Vec<String> = key.keys().cloned().collect();
            names
                .into_iter()
                .map(|name| (name.clone(), take(&mut key, &name)))
                .collect()
        });
        Ok(Page {
            items: answer.items.unwrap_or_default(),
            next,
        })
    }

    pub async fn transact(
        &self,
        token: String,
        writes: Vec<TransactWriteItem>,
    ) -> Result<(), SdkError<TransactWriteItemsError>> {
        let _connection = self.connections.acquire().await.ok();
        let request = self.client.transact_write_items().client_request_token(token);
        request.set_transact_items(Some(writes)).send().await.map(|_| ())
    }
}

pub fn failed(error: impl std::error::Error + Send + Sync + 'static) -> Failed {
    Arc::new(error)
}

pub fn text(value: impl Into<String>) -> AttributeValue {
    AttributeValue::S(value.into())
}

pub fn number(digits: impl Into<String>) -> AttributeValue {
    AttributeValue::N(digits.into())
}

/// Returns a string attribute without copying it, "" if it is missing.
pub fn take(item: &mut Item, name: &str) -> String {
    take_if_any(item, name).unwrap_or_default()
}

pub fn take_if_any(item: &mut Item, name: &str) -> Option<String> {
    match item.remove(name) {
        Some(AttributeValue::S(value)) => Some(value),
        _ => None,
    }
}

/// Returns a number, 0 if it is missing.
pub fn count(item: &Item, name: &str) -> i64 {
    match item.get(name) {
        Some(AttributeValue::N(digits)) => digits.parse().unwrap_or_default(),
        _ => 0,
    }
}
