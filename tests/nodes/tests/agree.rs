//! One script on the native host over PostgreSQL, and over memory: the same replies, the same rows.

use switchboard::store::Store;
use switchboard_nodes::Site;
use switchboard_proof::scene;
use switchboard_proof::subject::Native;

#[test]
fn the_native_server_over_postgresql_agrees() {
    let (script, said) = scene::record();
    let site = Site::new();
    let store = Store::of_url(&site.login.url(site.instance.address())).expect("a store");
    let native = Native::over(&script.settings, store);
    let url = native.url();
    if let Some(difference) = said.difference(&native.play(&script, &url)) {
        panic!("{difference}");
    }
}
