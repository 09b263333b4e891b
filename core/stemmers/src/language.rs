//! [`IndexLanguage`]: which stemmer fits a text, detected by its function words.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::tokens;

/// How much of a text is sampled, bytes.
const SAMPLE_BYTES: usize = 8 << 10;
/// Fewest function words that a sample must have to count as a language.
const WORDS_MIN: usize = 2;
/// At least one word in this many must be a function word.
const SHARE_MIN: usize = 8;

/// A language whose inflection the index knows. The numbers are stored and must never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum IndexLanguage {
    /// None of these, or undetected: words are left unchanged.
    Plain = 0,
    /// English, stemmed by Porter2.
    English = 1,
    /// German, with light stemming; typed umlauts are joined.
    German = 2,
    /// French, with light stemming.
    French = 3,
    /// Spanish, with light stemming.
    Spanish = 4,
    /// Italian, with light stemming.
    Italian = 5,
    /// Portuguese, with light stemming.
    Portuguese = 6,
    /// Dutch, with light stemming; spelling is normalized.
    Dutch = 7,
    /// Romanian, with light stemming; diphthongs are joined.
    Romanian = 8,
    /// Swedish, with light stemming.
    Swedish = 9,
    /// Russian, with light stemming; fleeting vowels are removed.
    Russian = 10,
}

impl IndexLanguage {
    /// All languages, in the order of their numbers.
    pub const ALL: [Self; 11] = [
        Self::Plain,
        Self::English,
        Self::German,
        Self::French,
        Self::Spanish,
        Self::Italian,
        Self::Portuguese,
        Self::Dutch,
        Self::Romanian,
        Self::Swedish,
        Self::Russian,
    ];

    /// Detects the language of a text from its beginning; `Plain` where none is clear.
    pub fn of(text: &str) -> Self {
        let sample = &text[..text.floor_char_boundary(SAMPLE_BYTES)];
        let mut known: BTreeMap<&str, Vec<Self>> = BTreeMap::new();
        for language in Self::ALL {
            language.function_words().split(' ').for_each(|word| known.entry(word).or_default().push(language));
        }
        let (mut words, mut counts) = (0, [0_usize; Self::ALL.len()]);
        tokens::each(sample, |word| {
            words += 1;
            known.get(word).into_iter().flatten().for_each(|language| counts[*language as usize] += 1);
        });
        let most = counts.iter().copied().max().unwrap_or(0);
        let mut found = Self::ALL.into_iter().filter(|language| counts[*language as usize] == most);
        match (found.next(), found.next()) {
            (Some(language), None) if most >= WORDS_MIN && most * SHARE_MIN >= words => language,
            _ => Self::Plain,
        }
    }

    /// Returns whether a word in the index's form is a function word of this language.
    pub fn is_function_word(self, word: &str) -> bool {
        let words = self.function_words();
        words.split(' ').any(|function| function == word)
    }

    /// Returns the commonest words without a meaning of their own, in the index's form.
    fn function_words(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::English => {
                "a about all an and any are as at be been but by can could do does each every for from has have \
                 he her his how i if in into is it its me my no not of on one or other our out s she so some t \
                 than that the their them there they this to up us was we were what when where which while who \
                 will with would you your"
            }
            Self::German => {
                "aber alle als am an auch auf aus bei beim bis da damit das dass dem den der des die diese dieser \
                 doch du durch ein eine einem einen einer eines er es fur gegen habe haben hat ich ihr ihre ihren \
                 im in innerhalb ist jede jeder kann konnen man mein mit nach nicht noch nur oder ohne sein sich \
                 sie sind so uber um und uns unser unsere vom von vor wann war was weitere wenn wer werden wie \
                 wir wird wo zu zum zur"
            }
            Self::French => {
                "a afin ainsi apres au aussi aux avant avec c ce ces cette chaque chez comme comment d dans de \
                 des deux doit du elle elles en entre est et ete etre font il ils j je jusqu l la le les leur \
                 leurs lors lui ma mais me meme mes mon n ne nos notre nous on ou par pas plus pour qu quand que \
                 quel quelle qui s sa sans se ses seulement si son sont sous sur tous tout toute un une vers vos \
                 votre vous y"
            }
            Self::Spanish => {
                "a al antes cada como con cual cuando de del desde donde dos e el ella ellos en entre es esta \
                 este esto fue ha hasta hay la las le les lo los mas me mi mis muy ni no nos nuestra nuestro o \
                 otra otro para pero por porque puede pueden que quien se ser si sin sobre solo son su sus \
                 tambien tiene toda todas todo todos tras tu un una y ya yo"
            }
            Self::Italian => {
                "a ad agli ai al alcune all alla alle anche c che chi ci come con cosa cui d da dai dal dall \
                 dalla dei del dell della delle di dopo dove due e ed entro era essere fa fino fra gli ha hai \
                 hanno i il in io l la le lo loro ma mi mio ne nei nel nell nella nelle non nostra nostri nostro \
                 o ogni oltre per perche piu poi prima puo puoi quale quali quando quelle questo qui se senza si \
                 sia solo sono su sugli sui sul sulla sulle ti tra tutte tutti un una uno vengono viene"
            }
            Self::Portuguese => {
                "a alguns ao aos apos as ate cada com como da das de depois do dois dos e ela ele eles em entre \
                 era essa esse esta este eu foi ha isso ja mais mas me mesmo meu minha muito na nao nas nem no \
                 nos nossa nosso num numa o onde os ou outra outras outro para pela pelo pode podem por porque \
                 qual quando que quem se sem ser seu seus so sobre sua suas tambem tem todas todos um uma voce"
            }
            Self::Dutch => {
                "aan achter al alle als ander bij binnen boven daarna dan dat de den der deze die dit door een \
                 eerst elk elke en er geen gratis had heb hebben heeft het hier hij hoe ik in is je jullie kan \
                 komt kunt maar mag me met mijn moet na naar naast niet nog of om onder ons onze ook op over te \
                 tegen tot twee u uit uw van vanaf voor waar wanneer was wat we welke wie wij worden wordt ze \
                 zich zij zijn zo zonder"
            }
            Self::Romanian => {
                "a aceasta acest ai al ale am are ati au avem ca care caruia cat ce cel cele cu cum da daca dar \
                 de decat despre din dintre doar doi doua dupa e ei el este eu face fi fie fiecare fost iar il in \
                 inainte intr intre isi la le lor mai mea mei meu nici noastre nostru nu o ori orice pana pe \
                 pentru peste poate pot prima prin sa sau se si sub sunt toate toti un unde unei unele unui va \
                 voi vostru"
            }
            Self::Swedish => {
                "alla allt ar att av bara blir da dag de dem den denna det detta dig din du efter eller en ett \
                 finns for fore fran ha han har hon hos hur i in inom inte jag kan man med men mer min mitt mot \
                 nagon nar och om oss over pa sa sedan sig ska skall som ta till under upp ut utan vad var vara \
                 varje vart vi vid vilka vilken vill"
            }
            Self::Russian => {
                "а без более будет бы был была было быть в вам вас весь во вот все всех вы где да для до друг его \
                 ее если есть еще же за здесь и из или им их к каждая каждое каждый как когда кто ли лишь между \
                 меня мне может можно мой моя мы на над нас наш наши не него нет ни но ну о об он она они от \
                 перед по под после при рядом с сам свой себя со так также там то того только том тот у уже через \
                 что чтобы эта эти это этот я"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;

    #[test]
    fn function_words_are_written_as_the_index_writes_them() {
        for language in IndexLanguage::ALL {
            let mut written = String::new();
            tokens::each(language.function_words(), |word| {
                written.push(' ');
                written.push_str(word);
            });
            assert_eq!(written.trim_start(), language.function_words(), "{language:?}");
        }
    }

    #[test]
    fn numbers_are_places() {
        assert!(IndexLanguage::ALL.iter().enumerate().all(|(at, language)| *language as usize == at));
    }

    #[test]
    fn what_is_not_clear_is_plain() {
        for text in ["", "12 34", "Acme GmbH", "東京都庁の窓口", "\u{202e}\0", "Kasa Wodnik 12/4, Szczecin ul. Polna"]
        {
            assert_eq!(IndexLanguage::of(text), IndexLanguage::Plain, "{text}");
        }
    }
}
