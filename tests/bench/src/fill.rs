//! Stores with as many calls as wanted, made through the core's own rows and sets.

use std::path::Path;

use switchboard::store::Store;
use switchboard_core::call::tables::{AnsweredBy, Call, CallStatus, CallType};
use switchboard_core::call::{Live, Stored};
use switchboard_core::id;
use switchboard_core::key::{Kind, Space};
use switchboard_core::record::{Choice, Sql, Variables};
use switchboard_core::store::Tx;
use switchboard_core::time::Timestamp;

use crate::Failed;

/// Calls of one commit.
const BATCH: u32 = 2_000;

/// Adds calls to the owner's account: every combination of status, type and assistant, many numbers.
pub fn calls(folder: &Path, count: u32) -> Result<(), Failed> {
    let store = Store::existing(folder)?;
    let mut made = 0;
    while made < count {
        let snapshot = store.snapshot()?;
        let view = snapshot.plain();
        let tx = Tx::new(&view);
        let scope = tx.scope(Space::Account(0));
        for _ in 0..BATCH.min(count - made) {
            let now = Timestamp::from_seconds(1_790_000_000 + u64::from(made) * 3);
            let (number, at) = scope.allot(Kind::Call, now).map_err(|stop| format!("{stop:?}"))?;
            let call = call(number, at);
            Stored::insert(scope, number, at, &call, Live::default()).map_err(|stop| format!("{stop:?}"))?;
            made += 1;
        }
        store.commit(&tx.changes())?;
    }
    Ok(())
}

fn call(number: u32, at: Timestamp) -> Call {
    let mixed = number.wrapping_mul(2_654_435_761) >> 8;
    let status = if mixed % 10 < 6 { CallStatus::Completed } else { CallStatus::ALL[(mixed % 10) as usize] };
    let r#type = if mixed % 7 < 4 { CallType::Outbound } else { CallType::Inbound };
    Call {
        id: id::of(Space::Account(0), number),
        assistant_name: "Anna".into(),
        campaign_name: None,
        r#type,
        duration: mixed % 600,
        assistant_phone_number: Some("+12122011892".into()),
        client_phone_number: Some(format!("+407{:08}", mixed % 250_000)),
        status,
        transcript: "AI: Hello, this is Anna.\nCustomer: Hello.\n".repeat(8),
        variables: Variables::default(),
        evaluation: None,
        webhook_response: None,
        carrier_cost: 0.01,
        total_cost: 0.05,
        answered_by: AnsweredBy::Human,
        recording_url: None,
        created_at: Sql(at),
        updated_at: Sql(at),
        assistant_id: u64::from(1 + mixed % 20),
        campaign_id: None,
        lead_id: None,
    }
}
