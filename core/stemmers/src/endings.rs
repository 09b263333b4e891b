//! Endings that the light stemmers remove, by language.
//!
//! The tables expect words in the index's form: lower-case Latin letters without diacritics, or Cyrillic. They follow
//! the idea of J. Savoy's light stemmers (number, gender and case of nouns and adjectives first) and continue with verb
//! forms and nouns made of verbs, by which questions and answers differ.

/// One step: removes the first ending that matches and leaves enough letters.
pub struct Step {
    /// Minimum number of letters that remain before the ending.
    pub least: usize,
    /// Endings separated by spaces, the longest first; `a>b` replaces `a` with `b`.
    pub endings: &'static str,
}

const fn step(least: usize, endings: &'static str) -> Step {
    Step { least, endings }
}

/// German. Removing `-ung` joins noun and verb; a lone `s` or `st` is removed only after consonants that can precede
/// it.
pub const GERMAN: &[Step] = &[
    step(4, "heiten keiten ungen heit keit ung"),
    step(3, "ern em en er es bs>b ds>d fs>f gs>g hs>h ks>k ls>l ms>m ns>n ts>t e"),
    step(3, "est er en et t"),
];

/// French: number and gender, nouns made of verbs, infinitives and the commonest persons; then doubled consonants.
pub const FRENCH: &[Step] = &[
    step(2, "eaux>eau aux>al oux>ou eux>eu s"),
    step(4, "issement atrice ateur ation ement aison ition euse able ite age eur ion"),
    step(3, "issent aient eront ente>ent ant ent era ons on er ez ir ee ie e i"),
];

/// Spanish: nouns made of verbs, then verb endings, number and gender.
pub const SPANISH: &[Step] = &[
    step(2, "mente ces>z"),
    step(
        3,
        "amientos imientos amiento imiento aciones iciones adores idores acion icion ieron iendo iones \
        ando ador idor adas ados aron idas idos amos emos imos ada ado ara era eza ias ida ido ion ios \
        an ar as en er es ia io ir os a e o",
    ),
    step(3, "ar er ir"),
];

/// Italian: nouns made of verbs, then verb endings, number and gender.
pub const ITALIAN: &[Step] = &[
    step(2, "mente che>ca chi>co ghe>ga ghi>go"),
    step(
        3,
        "amenti amento imenti imento azioni azione izioni izione atori atore ioni ione ando endo iamo are \
        ata ate ati ato ere ire ita ite iti ito uta ute uti uto ano ono ia ie ii io a e i o",
    ),
    step(3, "ar er ir"),
];

/// Portuguese: plurals, nouns made of verbs, then verb endings and gender.
pub const PORTUGUESE: &[Step] = &[
    step(2, "oes>ao aes>ao ais>al eis>el ois>ol res>r zes>z ns>m s"),
    step(
        3,
        "amento imento mente acao icao ando endo indo ador idor aram eram ado ada ido ida eza cao am ar \
        em er ir ao ia io a e o",
    ),
];

/// Dutch: diminutives, plurals and nouns made of verbs; the spelling of the end is normalized afterwards.
pub const DUTCH: &[Step] = &[step(3, "heden heid tjes tje"), step(3, "ingen eren>er ieen>ie ing ies>ie en es e")];

/// Dutch, after the spelling is normalized: verb endings, then a plural `s` that may belong to the word (`fiets`).
pub const DUTCH_LATE: &[Step] = &[step(4, "eerd>er eer>er t d"), step(3, "s")];

/// Romanian: articles, cases and plurals, then nouns made of verbs and verb endings.
pub const ROMANIAN: &[Step] = &[
    step(3, "urilor iilor>i urile ilor elor iile>i ului iei>i iii>i iul>i uri ile ele ii>i ia>i ie>i ul ei a e i u"),
    step(3, "atori ator eaza ati iti uti are ere ire ari eri iri and ind at it ut ar er ir am em im ez a e i"),
];

/// Swedish: articles, plurals and verb endings, then the consonants doubled by the neuter.
pub const SWEDISH: &[Step] = &[
    step(
        3,
        "ningarna heterna ningar ningen hetens anden heten heter arnas ernas ornas arens ning arna erna \
        orna ande arne aste aren ades eln>el het ade are ast ans ens ets ars ers ors en an ar er or as es et at ad \
        on>o ds>d gs>g ks>k ls>l ms>m ns>n rs>r ts>t a e",
    ),
    step(3, "lig els el>l dd>d gd>g nn>n dt>d gt>g tt>t"),
];

/// Russian: reflexive verbs, then cases, adjectives, participles and verb forms, then their remains.
pub const RUSSIAN: &[Step] = &[
    step(3, "ся сь"),
    step(
        3,
        "ированием ированию ирования ирование ованиями ировать ованиях ованием ировали ировала ировал \
        ования ование ованию енного ениями аниями ивать ивает ениях аниях ением анием ующий ающий ающие \
        ающих ируем ирует енный енные енных остью остей ируют ение ения ению ании ание ания анию ений \
        аний ости ость иями аете яете ает ыми ими ого его ому ему ами ями иям иях ием яет аем яем ают \
        яют ить ать ять еть ишь ешь ете ите ала али ила или ый ий ой ей ая яя ое ее ые ие ых их ую юю ым \
        им ом ем ам ям ах ях ов ев ию ия ии ью ал ил ит ет ют ут ат ят а е и о у ы ь ю я й",
    ),
    step(3, "енн ост нн>н ь и"),
];
