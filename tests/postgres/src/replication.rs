//! Standbys: made by `pg_basebackup` with a slot of their own, synchronous or not, paused and promoted.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

use crate::instance::{Instance, InstanceOptions, SUPERUSER};
use crate::pause::Pause;

/// A position in the write-ahead log, bytes from its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lsn(pub u64);

impl FromStr for Lsn {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text
            .split_once('/')
            .and_then(|(high, low)| Some((u32::from_str_radix(high, 16).ok()?, u32::from_str_radix(low, 16).ok()?)));
        let (high, low) = parts.ok_or_else(|| format!("{text:?} is no position: two numbers like 0/16B3748 are"))?;
        Ok(Self(u64::from(high) << 32 | u64::from(low)))
    }
}

impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:X}/{:X}", self.0 >> 32, self.0 & u64::from(u32::MAX))
    }
}

impl Instance {
    /// Makes a standby of this server and returns when it streams. Its name is that of its slot, of letters, digits and
    /// `_`; commits wait for it once `synchronous_standby_names` has it.
    pub fn standby(&self, name: &str) -> Result<Self, String> {
        self.standby_at(name, self.address())
    }

    /// Makes a standby that reaches this server at another address: that of a proxy.
    pub fn standby_at(&self, name: &str, at: SocketAddr) -> Result<Self, String> {
        let mut options = Self::options();
        for (setting, value) in self.settings() {
            // Whoever is promoted waits for nobody until a test says so; its certificate lies in a folder of its own.
            if setting != "synchronous_standby_names" && !setting.starts_with("ssl") {
                options = options.set(&setting, &value);
            }
        }
        if let Some(identity) = &self.identity {
            options = options.tls(identity);
        }
        if self.is_in_memory {
            options = options.in_memory();
        }
        self.standby_with(options, name, at)
    }

    /// Makes a standby with options of its own, such as a small disk. PostgreSQL demands that its `max_connections` and
    /// the like are not below this server's.
    pub fn standby_with(&self, options: InstanceOptions, name: &str, at: SocketAddr) -> Result<Self, String> {
        let connection = format!("host={} port={} user={SUPERUSER} application_name={name}", at.ip(), at.port());
        let standby = options.start_from(self.superuser.clone(), |instance| {
            let data = format!("--pgdata={}", instance.data.display());
            let (connection, slot) = (format!("--dbname={connection}"), format!("--slot={name}"));
            let copying = ["--checkpoint=fast", "--create-slot", "--no-password", "--no-sync", "--wal-method=stream"];
            let arguments = [&data, &connection, &slot, "--write-recovery-conf"].into_iter().chain(copying);
            let arguments: Vec<&str> = arguments.collect();
            instance.launch.run("pg_basebackup", &arguments, &[("PGPASSWORD", &self.superuser.password)])
        })?;
        self.wait_for(
            &format!("SELECT state FROM pg_stat_replication WHERE application_name = '{name}'"),
            "streaming",
        )?;
        Ok(standby)
    }

    /// Has commits wait for standbys, as `synchronous_standby_names` says (`FIRST 1 (a, b)`); an empty text for none.
    /// On return every later commit waits, whether or not there is such a standby.
    pub fn synchronize_with(&self, standbys: &str) -> Result<(), String> {
        self.set("synchronous_standby_names", standbys)
    }

    /// Waits until a standby is one that commits wait for.
    pub fn wait_until_synchronous(&self, name: &str) -> Result<(), String> {
        let state = "SELECT sync_state IN ('sync', 'quorum') FROM pg_stat_replication WHERE application_name =";
        self.wait_for(&format!("{state} '{name}'"), "t")
    }

    /// Makes a standby a primary, and returns when it takes writes.
    pub fn promote(&self) -> Result<(), String> {
        let promoted = self.value("SELECT pg_promote(true, 60)")?;
        if promoted == "t" { Ok(()) } else { Err("the standby is not promoted within 60 seconds".into()) }
    }

    /// Lets the process stand still that sends the log to a standby: it gets nothing more, and its connection stays.
    pub fn pause_sender(&self, name: &str) -> Result<Pause, String> {
        self.pause_process(&format!("SELECT pid FROM pg_stat_replication WHERE application_name = '{name}'"))
    }

    /// Lets the process of this standby stand still that receives the log.
    pub fn pause_receiver(&self) -> Result<Pause, String> {
        self.pause_process("SELECT pid FROM pg_stat_wal_receiver")
    }

    /// Returns up to where its log is durable; on a standby, up to where it was replayed.
    pub fn wal_position(&self) -> Result<Lsn, String> {
        let position =
            "CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_flush_lsn() END";
        self.value(&format!("SELECT {position}"))?.parse()
    }

    /// Waits until a standby has replayed the log up to here.
    pub fn wait_for_position(&self, position: Lsn) -> Result<(), String> {
        self.wait_for(&format!("SELECT pg_last_wal_replay_lsn() >= '{position}'"), "t")
    }

    fn pause_process(&self, query: &str) -> Result<Pause, String> {
        let pid = self.value(query)?;
        let pid = pid.parse().map_err(|_| format!("there is no such process ({query})"))?;
        Pause::new(vec![pid])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_read_and_written() {
        for (text, position) in [("0/16B3748", 0x016B_3748), ("A/0", 10 << 32), ("1/FFFFFFFF", (2 << 32) - 1)] {
            assert_eq!(text.parse(), Ok(Lsn(position)));
            assert_eq!(Lsn(position).to_string(), text);
        }
        assert!("16B3748".parse::<Lsn>().is_err());
    }
}
