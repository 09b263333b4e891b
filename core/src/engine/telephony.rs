//! How the calls of an engine reach the telephone network: the trunk of each, and the list of all trunks, by which an
//! engine knows whom to register with and whom to let in (docs/api.md, Telephony).

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::account::profile::Profile;
use crate::assistant::rows::of_call as of_call_row;
use crate::assistant::tables::Assistant;
use crate::call::CallRow;
use crate::call::tables::CallType;
use crate::carrier::Carrier;
use crate::http::base;
use crate::http::ctx::Ctx;
use crate::http::refusal::{Halt, Refusal};
use crate::http::reply::Reply;
use crate::http::route::Handled;
use crate::id;
use crate::key::Topic;
use crate::limits::{CLAIM_WAIT_SECONDS, TRUNKS_MAX};
use crate::number::tables::{ADDRESSES, Authorization, OutboundProxy, TrunkType};
use crate::number::{self, NumberRow, TrunkSettings};
use crate::record::{bytes, choice, id as id_column, int, list, text, texts};
use crate::root;
use crate::store::Scope;
use crate::view::Stop;
use crate::{choice, record};

const OPEN: &str = "Credentials of trunks are sent over https, or to this machine, only.";

choice! {
    /// How a call reaches the network.
    pub enum TelephonyKind {
        /// By SIP, over a trunk of the account.
        Sip = "sip",
        /// By the carrier that the operator has an account with.
        Twilio = "twilio",
        /// Over a page, without a telephone.
        Web = "web",
    }
}

choice! {
    /// What carries SIP messages.
    pub enum Transport {
        /// UDP.
        Udp = "udp",
        /// TCP.
        Tcp = "tcp",
        /// TLS over TCP.
        Tls = "tls",
    }
}

record! {
    /// How a call reaches the network, and what is to be known of its trunk. Credentials are null for a token without
    /// `telephony`.
    pub struct Telephony {
        /// How the call reaches the network.
        kind: TelephonyKind = choice::<TelephonyKind>().required(),
        /// Id of the trunk, or of the carrier's number; null for `web`.
        trunk_id: Option<u64> = id_column(),
        /// Number that is shown, and of a trunk its own; null for `web`.
        from: Option<String> = text(0, 64),
        /// Number to call as the trunk wants it written; null of an inbound call, and in the list of trunks.
        dial: Option<String> = text(0, 64),
        /// Host of the trunk, with a port if it is not the usual one; of a carrier the URL of its API.
        address: Option<String> = text(0, 255),
        /// What carries SIP messages.
        transport: Option<Transport> = choice::<Transport>(),
        /// User name at the trunk, or the carrier's account.
        username: Option<String> = text(0, 128),
        /// Password at the trunk, or the carrier's token.
        password: Option<String> = text(0, 255),
        /// Host that calls are sent through; null: none.
        outbound_proxy: Option<String> = text(0, 255),
        /// How incoming calls are authorized.
        inbound_authorization_type: Option<Authorization> = choice::<Authorization>(),
        /// IP addresses and CIDR ranges from which calls are let in.
        allowed_inbound_ips: Vec<String> = texts(&ADDRESSES, 50),
    }
}

record! {
    /// Query of `GET /engine/trunks`.
    pub struct TrunksQuery {
        /// Version that the engine knows: the answer waits until there is another one.
        after: Option<u64> = bytes(0, i64::MAX),
        /// Longest wait for another version, seconds; 0 answers at once.
        wait: u32 = int(0, CLAIM_WAIT_SECONDS as i64).or_int(0),
    }
}

record! {
    /// Answer of `GET /engine/trunks`.
    pub struct Trunks {
        /// Version of the list: another one once any trunk has changed.
        version: u64 = bytes(0, i64::MAX).required(),
        /// Trunks of the accounts that the token serves.
        trunks: Vec<Telephony> = list::<Telephony>(TRUNKS_MAX),
    }
}

/// `GET /engine/trunks`
pub fn trunks(ctx: &Ctx<'_>) -> Handled {
    let query: TrunksQuery = ctx.asks()?;
    let shows = shows_credentials(ctx)?;
    let version = root::trunks_version(ctx.root())?;
    if query.after == Some(version) && query.wait > 0 && !ctx.has_waited() {
        return Err(Halt::Park(Topic::Trunks, ctx.now.plus_seconds(query.wait.into())));
    }
    let mut trunks = Vec::new();
    for (number, count) in root::trunks(ctx.root(), TRUNKS_MAX)? {
        let account = root::space_of(ctx.root(), number);
        if !ctx.engine().serves(number) || Profile::of(account)?.state.suspended {
            continue;
        }
        if let Some((row, stored)) = number::find(account, count)?
            && let Some(trunk) = &stored.trunk
        {
            trunks.push(sip(account, count, trunk, Some(&row.private).filter(|_| shows)));
        }
    }
    Ok(Reply::ok(&Trunks { version, trunks }).header("cache-control", "no-store"))
}

/// Returns whether the engine gets the credentials of trunks; 403 if it would get them over a connection that others can
/// read.
pub fn shows_credentials(ctx: &Ctx<'_>) -> Result<bool, Halt> {
    let shows = ctx.engine().telephony;
    if shows && !base::is_private(&ctx.setup.config, ctx.request) {
        return Err(Refusal::Forbidden(OPEN.into()).into());
    }
    Ok(shows)
}

/// Returns how a call reaches the network; `None` if its number belongs to nothing that an engine could use.
pub fn of_call(ctx: &Ctx<'_>, account: Scope<'_>, call: &CallRow) -> Result<Option<Telephony>, Stop> {
    if call.shown.r#type == CallType::Web {
        return Ok(Some(Telephony::of(TelephonyKind::Web)));
    }
    let Some(count) = trunk_of(account, call)? else { return Ok(None) };
    let Some((row, stored)) = number::find(account, count)? else { return Ok(None) };
    let shows = ctx.engine().telephony;
    let to = call.shown.client_phone_number.as_deref().filter(|_| call.shown.r#type == CallType::Outbound);
    let Some(trunk) = &stored.trunk else { return Ok(of_carrier(ctx, account, count, &stored, to, shows)) };
    let country = stored.country_code.as_deref();
    let dial = to.map(|to| trunk.sip_calling_format.dialed(to, country));
    Ok(Some(Telephony { dial, ..sip(account, count, trunk, Some(&row.private).filter(|_| shows)) }))
}

/// Returns the number by whose trunk a call goes: that of its assistant while it is the one that the call shows, else the
/// one with the number that the call shows.
pub fn trunk_of(account: Scope<'_>, call: &CallRow) -> Result<Option<u32>, Stop> {
    let Some(shown) = call.shown.assistant_phone_number.as_deref() else { return Ok(None) };
    if let Some(assistant) = of_call_row(account, call.assistant())? {
        let id = Assistant::MEMBERS.phone_number_id.read(&assistant.public)?;
        let count = id.and_then(|id| id::local(account.space(), id)).unwrap_or(0);
        if number::find(account, count)?.is_some_and(|(_, stored)| stored.phone_number == shown) {
            return Ok(Some(count));
        }
    }
    number::of_number(account, shown)
}

impl Telephony {
    fn of(kind: TelephonyKind) -> Self {
        Self {
            kind,
            trunk_id: None,
            from: None,
            dial: None,
            address: None,
            transport: None,
            username: None,
            password: None,
            outbound_proxy: None,
            inbound_authorization_type: None,
            allowed_inbound_ips: Vec::new(),
        }
    }
}

/// Port at which SIP is spoken over TLS (RFC 3261, section 19.1.2).
const TLS_PORT: &str = ":5061";

/// Returns how calls go over a SIP trunk, with its credentials if its `password` is given.
pub fn sip(account: Scope<'_>, count: u32, trunk: &TrunkSettings, password: Option<&Vec<u8>>) -> Telephony {
    let trunk = trunk.clone();
    let is_tls = trunk.sip_address.ends_with(TLS_PORT);
    Telephony {
        trunk_id: Some(id::of(account.space(), count)),
        from: Some(trunk.phone_number),
        outbound_proxy: match trunk.outbound_proxy {
            Some(OutboundProxy::Host(host)) => Some(host),
            Some(OutboundProxy::Own(true)) => Some(trunk.sip_address.clone()),
            Some(OutboundProxy::Own(false)) | None => None,
        },
        address: Some(trunk.sip_address),
        transport: Some(if is_tls { Transport::Tls } else { Transport::Udp }),
        username: trunk.sip_username.filter(|_| password.is_some()),
        password: password.filter(|bytes| !bytes.is_empty()).map(|bytes| String::from_utf8_lossy(bytes).into_owned()),
        inbound_authorization_type: Some(trunk.inbound_authorization_type),
        allowed_inbound_ips: trunk.allowed_inbound_ips,
        ..Telephony::of(TelephonyKind::Sip)
    }
}

/// Returns how a call from a bought number, or a caller id, goes by the operator's carrier.
fn of_carrier(
    ctx: &Ctx<'_>,
    account: Scope<'_>,
    count: u32,
    stored: &NumberRow,
    to: Option<&str>,
    shows: bool,
) -> Option<Telephony> {
    let Carrier::Twilio(twilio) = &ctx.setup.config.carrier else { return None };
    Some(Telephony {
        trunk_id: Some(id::of(account.space(), count)),
        from: Some(stored.phone_number.clone()),
        dial: to.map(ToString::to_string),
        address: Some(twilio.base_url.clone()),
        username: shows.then(|| twilio.account_sid.clone()),
        password: shows.then(|| twilio.auth_token.0.clone()),
        ..Telephony::of(TelephonyKind::Twilio)
    })
}

/// Returns the number that was called over a trunk, if it is the trunk's: it may be written as the trunk writes numbers.
pub fn is_of_trunk(stored: &NumberRow, to: &str) -> bool {
    let Some(trunk) = &stored.trunk else { return false };
    if trunk.sip_trunk_type == TrunkType::Extension {
        return to == trunk.phone_number || trunk.sip_username.as_deref() == Some(to);
    }
    trunk.sip_calling_format.read(to, stored.country_code.as_deref()).as_deref() == Some(&*trunk.phone_number)
}
