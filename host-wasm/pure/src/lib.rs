//! The core as a component with no imports: whatever runs components can embed it.

use switchboard_core::service::Service;

mod bindings {
    #![allow(unsafe_code, clippy::pedantic)]
    wit_bindgen::generate!({ world: "pure", path: "../../wit" });
}

struct Pure;

impl bindings::Guest for Pure {
    fn version() -> String {
        Service::version()
    }
}

bindings::export!(Pure with_types_in bindings);
