//! A valid request for each operation that stores something.

use serde_json::{Value, json};
use switchboard_core::http::request::Method;
use switchboard_tests::house::{Call, House, assistant, campaign, lead, tool, trunk};
use switchboard_tests::places::Places;

/// The parts of a request beside its path.
pub struct Sent {
    /// Query, with its question mark; empty if there is none.
    pub query: String,
    media: &'static str,
    /// Body as sent.
    pub bytes: Vec<u8>,
}

impl Sent {
    /// A JSON body, without a query.
    pub fn json(body: &Value) -> Self {
        Self { query: String::new(), media: "application/json", bytes: body.to_string().into_bytes() }
    }

    /// A CSV file with a query.
    pub fn csv(query: String, bytes: Vec<u8>) -> Self {
        Self { query, media: "text/csv", bytes }
    }

    /// Puts the body into a request; the caller adds the query.
    pub fn with<'h>(&self, call: Call<'h>) -> Call<'h> {
        call.header("content-type", self.media).body(self.bytes.clone())
    }
}

/// A file small enough to be stored in one step.
const FILE: &[u8] = b"phone_number\n+40700000071\n";

/// Returns a valid request for an operation, by its id: a new resource, or a change that makes one longer.
pub fn valid(id: &str, house: &mut House, places: &Places) -> Option<Sent> {
    let long = "x".repeat(50);
    let own = |start: &str| places.id(start);
    let body = match id {
        "createApiKey"
        | "createAccountKey"
        | "createEngineToken"
        | "createKnowledgebase"
        | "createFolder"
        | "createLabel" => json!({ "name": "New" }),
        "createAccount" => json!({ "email": "new@example.com" }),
        "createAssistant" => assistant(),
        "enableInboundWebhook" | "enableWebhook" | "enableConversationEndedWebhook" => {
            json!({ "assistant_id": own("/user/assistant"), "webhook_url": format!("https://a.example/{long}") })
        }
        "enableInboundWebhookOf" | "enableWebhookOf" | "enableConversationEndedWebhookOf" => {
            json!({ "webhook_url": format!("https://a.example/{long}") })
        }
        "createTool" => tool("another"),
        "updateMe" | "updateAssistant" | "duplicateAssistant" | "updateCampaign" | "updateFolder" | "updateLabel" => {
            json!({ "name": long })
        }
        "updateTool" | "updateKnowledgebase" | "updateDocument" => json!({ "description": long }),
        "updateTrunk" | "updateNumber" => json!({ "nickname": long }),
        "updateLead" => json!({ "variables": { "a": long } }),
        "purchaseNumber" => json!({ "phone_number": offered(house) }),
        "createCallerId" | "addDoNotCall" => json!({ "phone_number": "+40700000072" }),
        "createTrunk" => trunk("+40700000073"),
        "createDocument" => json!({ "name": "Site", "type": "website", "url": "https://a.example" }),
        "makeCall" => json!({ "phone_number": "+40700000074", "assistant_id": own("/user/assistant") }),
        "makeWebCall" => json!({ "assistant_id": own("/user/assistant") }),
        "createCampaign" => campaign(own("/user/assistant")),
        "switchCampaign" => json!({ "campaign_id": own("/user/campaign"), "action": "start" }),
        "switchCampaignOf" => json!({ "status": "active" }),
        "createLead" => lead(own("/user/campaign"), "+40700000075"),
        "sendSms" => json!({ "from": sender(house), "to": "+40700000076", "body": "Hello" }),
        "replacePrices" => json!({ "items": [{ "unit": "chat_message", "price": 1 }] }),
        "startConversation" => json!({ "assistant_id": own("/user/assistant"), "type": "test" }),
        "sendMessage" => json!({ "message": "Hello" }),
        "generateReply" => {
            json!({ "assistant_id": own("/user/assistant"), "customer_identifier": "c", "message": "Hello" })
        }
        "commandCall" => json!({ "type": "say", "text": "One moment" }),
        "claimCalls" | "renewLeases" => json!({ "engine": "E" }),
        "drainEngine" => json!({ "drain": true }),
        "bringCall" => json!({ "type": "web", "assistant_id": own("/user/assistant") }),
        "callWidget" | "resendDelivery" | "rotateWebhookSecret" | "testTool" | "runTool" | "previewAssistant" => {
            json!({})
        }
        "importLeads" => return Some(Sent::csv(format!("?campaign_id={}", own("/user/campaign")), FILE.into())),
        "importDoNotCall" => return Some(Sent::csv(String::new(), FILE.into())),
        _ => return None,
    };
    Some(Sent::json(&body))
}

/// Returns a number that the simulated carrier sells.
pub fn offered(house: &mut House) -> String {
    let found = house.get("/user/phone-numbers/search?country_code=US").expect(200).json;
    found["data"][0]["phone_number"].as_str().expect("an offer").to_owned()
}

/// Returns the id of the first number that can send messages; buys one if there is none.
pub fn sender(house: &mut House) -> u64 {
    let numbers = house.call(Method::Get, "/user/phone-numbers").send().expect(200).json;
    numbers[0]["id"].as_u64().unwrap_or_else(|| {
        let number = offered(house);
        house.make("/user/phone-numbers/purchase", &json!({ "phone_number": number }))
    })
}
