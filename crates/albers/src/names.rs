//! What the name of a column says about it.
//!
//! A name is cut into lower-case words: `BirthDate`, `birth-date` and `birth_date2` are the same.
//! English, German, French and Spanish words are known, see the [`table`].

mod table;

use table::{Known, LISTS, TABLE};

/// What a name hints at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hint {
    /// It names one person.
    Direct,
    /// It is the number of a person.
    PersonId,
    /// It is a number or key of something.
    Id,
    /// It is a postal code.
    Postal,
    /// Others know it of a person.
    Quasi,
    /// It is a date, which others may know of a person.
    Event,
    /// It must not be linked to a person.
    Sensitive,
    /// It holds what people wrote in their own words.
    Notes,
}

/// Words that say nothing of what they stand between.
const FILLERS: &str = "of the a de du des la le les el los las del der die das von und y et l d s";

/// What a name hints at, if anything.
pub fn hint(name: &str) -> Option<Hint> {
    known(name).map(|known| known.hint)
}

/// What a column of this name is, in a few words.
pub fn meaning(name: &str) -> Option<&'static str> {
    known(name).map(|known| known.what)
}

/// Whether a column is named like what identifies a person: their name, or a number of theirs.
pub(crate) fn names_a_person(column: &str) -> bool {
    matches!(hint(column), Some(Hint::Direct | Hint::PersonId))
}

/// Whether a name ends in a word for a number or a key, as `order no` does and `number of visits` does
/// not.
pub(crate) fn names_a_key(column: &str) -> bool {
    hint(column) == Some(Hint::Id) && words(column).last().is_some_and(|word| is_like(word, "@id"))
}

fn known(name: &str) -> Option<&'static Known> {
    let words = words(name);
    let says = |known: &&Known| known.entries.split_whitespace().any(|entry| is_of(entry, &words));
    TABLE.iter().find(says).filter(|_| !words.is_empty())
}

/// Whether a name with these words is one of an entry of the table.
fn is_of(entry: &str, words: &[String]) -> bool {
    match entry.strip_prefix('=') {
        Some(only) => words.iter().all(|word| word == only),
        None => {
            // Each part is another word: the name of a number is no number of a name.
            let mut left: Vec<&String> = words.iter().collect();
            entry.split('+').all(|part| {
                let at = left.iter().position(|word| is_like(word, part));
                at.map(|at| left.remove(at)).is_some()
            })
        }
    }
}

/// Whether a word is one that a part of an entry stands for.
fn is_like(word: &str, part: &str) -> bool {
    if let Some((_, list)) = LISTS.iter().find(|(name, _)| *name == part) {
        return list.split_whitespace().any(|part| is_like(word, part));
    }
    match (part.strip_suffix('*'), part.strip_prefix('*')) {
        (Some(start), _) => word.starts_with(start),
        (_, Some(end)) => word.ends_with(end),
        _ => word == part,
    }
}

/// The lower-case words of a name without accents: cut at everything that is no letter, and where a
/// capital follows a small letter or begins a word after other capitals.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let characters: Vec<char> = name.chars().collect();
    for (at, &character) in characters.iter().enumerate() {
        let is_small = |at: usize| characters.get(at).is_some_and(|c: &char| c.is_lowercase());
        let follows_small = at > 0 && is_small(at - 1);
        let begins = character.is_uppercase() && (follows_small || is_small(at + 1));
        if (!character.is_alphabetic() || begins) && words.last().is_some_and(|w| !w.is_empty()) {
            words.push(String::new());
        }
        if character.is_alphabetic()
            && let Some(word) = words.last_mut()
        {
            character.to_lowercase().for_each(|small| word.push_str(&plain_letter(small)));
        }
    }
    words.retain(|word| !word.is_empty() && !FILLERS.split(' ').any(|filler| filler == word));
    words.into_iter().flat_map(apart).collect()
}

/// `patientid` is two words that are written together.
fn apart(word: String) -> Vec<String> {
    let starts = word.char_indices().map(|(start, _)| start).skip(1);
    let cut = starts
        .map(|start| word.split_at(start))
        .find(|(person, id)| is_like(person, "@person") && is_like(id, "@id") && person.len() > 2);
    match cut {
        Some((person, id)) => vec![person.to_owned(), id.to_owned()],
        None => vec![word],
    }
}

/// A letter without its accent.
fn plain_letter(letter: char) -> String {
    match letter {
        'ä' => "ae".to_owned(),
        'ö' => "oe".to_owned(),
        'ü' => "ue".to_owned(),
        'ß' => "ss".to_owned(),
        'á' | 'à' | 'â' => "a".to_owned(),
        'é' | 'è' | 'ê' | 'ë' => "e".to_owned(),
        'í' | 'î' | 'ï' => "i".to_owned(),
        'ó' | 'ô' => "o".to_owned(),
        'ú' | 'ù' | 'û' => "u".to_owned(),
        'ñ' => "n".to_owned(),
        'ç' => "c".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_into_lower_case_words() {
        assert_eq!(words("BirthDate"), ["birth", "date"]);
        assert_eq!(words("birth-date_2"), ["birth", "date"]);
        assert_eq!(words("IPAddress"), ["ip", "address"]);
        assert_eq!(words("zip5code"), ["zip", "code"]);
        assert_eq!(words("Año de Geburtsstraße"), ["ano", "geburtsstrasse"]);
        assert_eq!(words("ZIP"), ["zip"]);
        assert_eq!(words("PATIENTID"), ["patient", "id"]);
        assert_eq!(words(" . "), Vec::<String>::new());
    }

    #[test]
    fn names_hint_at_what_columns_are() {
        for (name, expected) in [
            ("PatientID", Some(Hint::PersonId)),
            ("patientid", Some(Hint::PersonId)),
            ("customer no", Some(Hint::PersonId)),
            ("customer", Some(Hint::PersonId)),
            ("customer-since", None),
            ("patient covid", None),
            ("id", Some(Hint::PersonId)),
            ("household-size", Some(Hint::Quasi)),
            ("order id", Some(Hint::Id)),
            ("postal-code", Some(Hint::Postal)),
            ("PLZ", Some(Hint::Postal)),
            ("birthDate", Some(Hint::Quasi)),
            ("marital-status", Some(Hint::Quasi)),
            ("Geschlecht", Some(Hint::Quasi)),
            ("family name", Some(Hint::Direct)),
            ("family-status", Some(Hint::Quasi)),
            ("name", Some(Hint::Direct)),
            ("product name", None),
            ("country name", Some(Hint::Quasi)),
            ("e-mail", Some(Hint::Direct)),
            ("ICD10 code", Some(Hint::Sensitive)),
            ("income", Some(Hint::Sensitive)),
            ("death", None),
            ("date_of_death", Some(Hint::Event)),
            ("dischargeDate", Some(Hint::Event)),
            ("comments", Some(Hint::Notes)),
            ("Unnamed: 0", Some(Hint::Id)),
            ("phone-prefix", Some(Hint::Quasi)),
            ("rownames", Some(Hint::Id)),
            ("", None),
            ("日本", None),
        ] {
            assert_eq!(hint(name), expected, "{name}");
        }
    }

    #[test]
    fn four_languages_are_known() {
        for (names, expected) in [
            ("date_of_birth|Geburtsdatum|date de naissance|fecha de nacimiento", Hint::Quasi),
            ("admission date|Aufnahmedatum|date d'entrée|fecha de ingreso", Hint::Event),
            ("discharge_date|Entlassungsdatum|date de sortie|fecha de alta", Hint::Event),
            ("date of death|Todesdatum|date de décès|fecha de defunción", Hint::Event),
            ("latitude|Breitengrad|latitud|gps_lon", Hint::Quasi),
            ("phone|Telefonnummer|téléphone|teléfono", Hint::Direct),
            ("email|courriel|correo electrónico|ip_address|url", Hint::Direct),
            ("insurance number|Krankenversicherungsnummer|n° sécurité sociale", Hint::Direct),
            ("driver_licence_no|Führerscheinnummer|permis de conduire|matrícula", Hint::Direct),
            ("passport|Reisepassnummer|passeport|pasaporte|taxId|Steuernummer|NIF", Hint::Direct),
            ("patient number|Patientennummer|id_paciente|numéro patient", Hint::PersonId),
            ("health plan number|Versicherungsnummer|n. assurance|póliza", Hint::Direct),
            ("Krankenkassennummer|Lizenznummer|Patientenname|Name des Patienten", Hint::Direct),
            ("GebDatum|gebdat|Geb.|Jahrgang|Geschl.|Rasse|origine ethnique", Hint::Quasi),
            ("Religionszugehörigkeit|Glaube|confession", Hint::Sensitive),
            ("remarks|Bemerkungen|commentaire|observaciones", Hint::Notes),
            ("religion|Konfession|salary|Einkommen|salaire|ingresos", Hint::Sensitive),
            ("diagnosis|Diagnose|diagnóstico|Behandlung|traitement", Hint::Sensitive),
            ("race|ethnicity|nationality|Staatsangehörigkeit|nationalité", Hint::Quasi),
            ("marital_status|Familienstand|état civil|estado civil", Hint::Quasi),
            ("occupation|Beruf|métier|ocupación|sex|Geschlecht|sexe|género", Hint::Quasi),
            ("zip|Postleitzahl|code postal|código postal", Hint::Postal),
            ("city|Stadt|ville|ciudad|region|country|Land|pays|país", Hint::Quasi),
            ("first_name|Vorname|prénom|apellidos|street|Straße|dirección", Hint::Direct),
        ] {
            for name in names.split('|') {
                assert_eq!(hint(name), Some(expected), "{name}");
            }
        }
    }
}
