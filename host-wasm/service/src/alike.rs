//! Code that is the same for both versions of `wasi:http`, expanded once for the types of each.

/// Defines functions over the module `types` that is in scope at the call.
macro_rules! alike {
    () => {
        /// Converts a method to the core's.
        fn method(method: &types::Method) -> Method {
            match method {
                types::Method::Get => Method::Get,
                types::Method::Head => Method::Head,
                types::Method::Post => Method::Post,
                types::Method::Put => Method::Put,
                types::Method::Delete => Method::Delete,
                types::Method::Options => Method::Options,
                types::Method::Patch => Method::Patch,
                types::Method::Connect | types::Method::Trace | types::Method::Other(_) => Method::Other,
            }
        }

        /// Builds headers for the host, dropping those that it rejects.
        fn fields(list: &Fields) -> types::Fields {
            types::Fields::from_list(list).unwrap_or_else(|_| {
                let fields = types::Fields::new();
                for (name, value) in list {
                    let _ = fields.append(name, value);
                }
                fields
            })
        }

        /// Sets how long the region may take to begin its answer. A host may not support a limit, and then does not
        /// apply it.
        fn options(first_byte: Duration) -> types::RequestOptions {
            let options = types::RequestOptions::new();
            let _ = options.set_connect_timeout(Some(nanoseconds(CONNECT)));
            let _ = options.set_first_byte_timeout(Some(nanoseconds(first_byte)));
            let _ = options.set_between_bytes_timeout(Some(nanoseconds(BETWEEN_BYTES)));
            options
        }
    };
}

/// Turns a request of either version into a POST to a path of the region; `None` if the host rejects its address.
macro_rules! address {
    ($request:expr, $settings:expr, $path:expr) => {{
        let region = &$settings.region;
        let scheme = if region.secure { types::Scheme::Https } else { types::Scheme::Http };
        $request.set_method(&types::Method::Post).ok()?;
        $request.set_scheme(Some(&scheme)).ok()?;
        $request.set_authority(Some(&region.authority)).ok()?;
        $request.set_path_with_query(Some(&format!("{}{}", region.base, $path))).ok()?;
    }};
}

/// Sets the status of an answer of either version.
macro_rules! set_status {
    ($response:expr, $status:expr) => {
        if $response.set_status_code($status).is_err() {
            // An invalid status is a bug of the sender.
            let _ = $response.set_status_code(500);
        }
    };
}

pub(crate) use {address, alike, set_status};
