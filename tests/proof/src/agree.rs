//! Random histories, played by every host that can play many in a short time.

use std::path::PathBuf;

use switchboard::store::Store;

use crate::history;
use crate::said::Transcript;
use crate::script::Script;
use crate::stage::{Stage, Steps};
use crate::subject::component::{Program, built};
use crate::subject::player::{Player, scripts};
use crate::subject::served::program;
use crate::subject::{Cold, Databases, Stored, configured};

/// The hosts to compare.
pub struct Hosts {
    component: Program,
    node: Option<Player>,
    databases: Option<Databases>,
    folder: PathBuf,
}

impl Hosts {
    /// Prepares the hosts; their files go into `folder`, and Node is searched in the directories of `path`.
    pub fn new(folder: PathBuf, path: &str) -> Self {
        let before = vec![scripts().join("play-node.js").display().to_string()];
        let node = program("node", path).map(|program| Player { program, before, after: vec!["memory".into()] });
        Self { component: Program::load(&built()), node, databases: None, folder }
    }

    /// Has the histories be played over PostgreSQL as well.
    #[must_use]
    pub fn with(mut self, databases: Databases) -> Self {
        self.databases = Some(databases);
        self
    }

    /// Returns whether Node was found.
    pub fn has_node(&self) -> bool {
        self.node.is_some()
    }

    /// Plays the histories with these numbers; returns the differences between hosts, each with its history.
    ///
    /// # Panics
    /// If a folder cannot be created.
    pub fn differences(&self, numbers: &[u64]) -> Result<Vec<(u64, String)>, String> {
        let first = numbers.first().copied().unwrap_or_default();
        let folder = self.folder.join(format!("histories-{first}"));
        let drawn: Vec<(Script, Transcript)> = numbers.iter().map(|number| history::draw(*number)).collect();
        let mut differ = Vec::new();
        let mut judge = |at: usize, host: &str, played: &Transcript| {
            differ.extend(drawn[at].1.difference(played).map(|how| (numbers[at], format!("{host}: {how}"))));
        };
        for (at, (script, _)) in drawn.iter().enumerate() {
            let own = folder.join("redb");
            std::fs::create_dir_all(&own).expect("a folder");
            judge(at, "memory, cold", &play(Cold::new(&script.settings), script));
            judge(at, "pure component", &play(self.component.start(&script.settings), script));
            let store = Store::open(&own).expect("a store opens");
            judge(at, "redb", &play(Stored::over(&script.settings, store), script));
            std::fs::remove_dir_all(&own).expect("it was made");
            if let Some(databases) = &self.databases {
                judge(at, "PostgreSQL", &over(databases, script)?);
            }
        }
        if let Some(node) = &self.node {
            std::fs::create_dir_all(&folder).expect("a folder");
            let scripts: Vec<&Script> = drawn.iter().map(|(script, _)| script).collect();
            let all = node.play_all(&scripts, &folder)?;
            all.iter().enumerate().for_each(|(at, played)| judge(at, "Node, memory", played));
        }
        std::fs::remove_dir_all(&folder).map_err(|error| error.to_string())?;
        Ok(differ)
    }
}

/// Plays a script over a store in PostgreSQL.
pub fn over(databases: &Databases, script: &Script) -> Result<Transcript, String> {
    databases.with_store(|store| play(Stored::over(&script.settings, store), script))
}

fn play(steps: impl Steps, script: &Script) -> Transcript {
    Stage::new(steps, configured(&script.settings).rate_limits).play(script)
}
