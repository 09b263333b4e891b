//! `switchboard-js-bindgen MODULE FOLDER`: writes `core.wasm`, and `core.js`, which creates instances of it.
//!
//! The glue of wasm-bindgen holds one instance in its own variables. Here it is wrapped in a function: each call has
//! variables of its own, so that an instance whose step panicked can be dropped for a new one.

use std::path::Path;
use std::process::ExitCode;

use wasm_bindgen_cli_support::Bindgen;

const HEAD: &str = "\
// Made by `cargo xtask js` out of host-wasm/js/src.
// @ts-nocheck

/** Bindings that hold no instance yet: `initSync({ module })` makes it. */
export function bindings() {
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.as_slice() {
        [module, folder] => write(Path::new(module), Path::new(folder)),
        _ => Err("usage: switchboard-js-bindgen MODULE FOLDER".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("switchboard-js-bindgen: {error}");
            ExitCode::FAILURE
        }
    }
}

fn write(module: &Path, folder: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let mut output = Bindgen::new()
        .input_path(module)
        .no_modules(true)?
        .no_modules_global("core")?
        .remove_name_section(true)
        .remove_producers_section(true)
        .generate_output()?;
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join("core.wasm"), output.wasm_mut().emit_wasm())?;
    std::fs::write(folder.join("core.js"), format!("{HEAD}{}\nreturn core;\n}}\n", output.js().trim()))?;
    Ok(())
}
