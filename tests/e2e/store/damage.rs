//! Damaged objects: an answer that reveals no internals, and never a panic.

use atlas_testkit::VaultBuilder;
use futures::TryStreamExt as _;
use object_store::{ObjectStore, ObjectStoreExt as _, PutPayload};
use serde_json::json;

use crate::support::deployment::Deployment;

#[tokio::test]
async fn whatever_byte_is_flipped_the_answer_is_right_or_an_error() {
    let vault = VaultBuilder::new()
        .note("vault/planning/now.md", "# Now\n\n[[b]] harbour\n")
        .note("vault/b.md", "# Harbour\n\ntext\n");
    let deployment = Deployment::of_vault(&vault).await;
    let right = deployment.client().find("harbour").await;
    let objects: Vec<_> = deployment.objects.list(None).try_collect().await.unwrap();
    let mut errors = 0;
    for object in objects {
        let bytes = deployment.objects.get(&object.location).await.unwrap().bytes().await.unwrap();
        for at in (0..bytes.len()).step_by(7) {
            let mut damaged = bytes.to_vec();
            damaged[at] ^= 0x10;
            deployment.objects.put(&object.location, PutPayload::from(damaged)).await.unwrap();
            let client = deployment.client();
            let reply = client.post("/find", json!({ "term": "harbour" })).await;
            if reply.status.is_success() {
                assert_eq!(client.find("harbour").await, right, "{} byte {at}", object.location);
            } else {
                let (code, _, message) = reply.error(500);
                assert!(
                    code == "INTERNAL" && !message.contains("segments/") && !message.contains("manifests/"),
                    "{message}"
                );
                errors += 1;
            }
        }
        deployment.objects.put(&object.location, PutPayload::from(bytes)).await.unwrap();
    }
    assert!(errors > 20);
}
