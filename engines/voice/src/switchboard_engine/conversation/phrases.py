"""What the engine itself says, in the languages that it knows; others hear English."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Phrases:
    """Sentences of one language, said where a model cannot say them.

    `waiting` while a tool takes its time, `repeat` where no answer came, `unheard` where nothing was understood, and
    `failed` when nothing works any more.
    """

    waiting: tuple[str, ...]
    repeat: str
    unheard: str
    failed: str
    goodbye: str
    reengage: str


_ENGLISH = Phrases(
    waiting=("One moment, please.", "Just a second.", "I am still looking."),
    repeat="Sorry, I did not get through. Could you say that again?",
    unheard="Sorry, I did not understand you. Could you say that again?",
    failed="I am sorry, something does not work here. Please call again later.",
    goodbye="Goodbye.",
    reengage="Are you still there?",
)
_KNOWN = {
    "en": _ENGLISH,
    "de": Phrases(
        waiting=("Einen Moment, bitte.", "Einen Augenblick.", "Ich schaue noch nach."),
        repeat="Entschuldigung, das hat nicht geklappt. Sagen Sie das bitte noch einmal?",
        unheard="Entschuldigung, ich habe Sie nicht verstanden. Sagen Sie das bitte noch einmal?",
        failed="Es tut mir leid, hier funktioniert gerade etwas nicht. Bitte rufen Sie später noch einmal an.",
        goodbye="Auf Wiederhören.",
        reengage="Sind Sie noch da?",
    ),
    "fr": Phrases(
        waiting=("Un instant, s'il vous plaît.", "Une seconde.", "Je cherche encore."),
        repeat="Excusez-moi, cela n'a pas marché. Pouvez-vous répéter ?",
        unheard="Excusez-moi, je n'ai pas compris. Pouvez-vous répéter ?",
        failed="Je suis désolé, quelque chose ne fonctionne pas. Veuillez rappeler plus tard.",
        goodbye="Au revoir.",
        reengage="Êtes-vous toujours là ?",
    ),
    "es": Phrases(
        waiting=("Un momento, por favor.", "Un segundo.", "Sigo buscando."),
        repeat="Perdón, no ha funcionado. ¿Puede repetirlo?",
        unheard="Perdón, no le he entendido. ¿Puede repetirlo?",
        failed="Lo siento, algo no funciona. Por favor, llame más tarde.",
        goodbye="Adiós.",
        reengage="¿Sigue ahí?",
    ),
    "it": Phrases(
        waiting=("Un momento, per favore.", "Un secondo.", "Sto ancora cercando."),
        repeat="Mi scusi, non ha funzionato. Può ripetere?",
        unheard="Mi scusi, non ho capito. Può ripetere?",
        failed="Mi dispiace, qualcosa non funziona. Richiami più tardi, per favore.",
        goodbye="Arrivederci.",
        reengage="È ancora in linea?",
    ),
}


def phrases_of(language: str) -> Phrases:
    """Return the sentences for a language code, such as `en-US`."""
    return _KNOWN.get(language.partition("-")[0].lower(), _ENGLISH)
