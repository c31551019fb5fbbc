//! What the name of a column says about it.
//!
//! A name is cut into lower-case words: `BirthDate`, `birth-date` and `birth_date` are the same.
//! English and German words are known.

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
    /// It must not be linked to a person.
    Sensitive,
}

/// Names of people and ways to reach them.
const DIRECT: &str = "\
    name names surname lastname firstname forename fullname username nachname vorname email \
    mail phone telephone telefon mobile fax ssn passport iban street strasse straße address \
    adresse ip";
/// `name` alone or beside one of these is a person's.
const NAME_OF_PERSON: &str = "first last middle given family full maiden user nick";
const PERSON: &str = "\
    patient person customer client subject member user employee student participant respondent \
    citizen resident voter insured household kunde kunden mitarbeiter versicherten pat cust \
    emp";
const ID: &str = "\
    id ids identifier nr no num number nummer key uuid guid mrn pid uid hash token account \
    record serial ref reference pseudonym";
const POSTAL: &str = "zip zipcode zip5 postal postcode plz postleitzahl";
const QUASI: &str = "\
    age alter sex gender geschlecht birth birthday birthdate birthyear born dob yob \
    geburtsdatum geburtstag geburtsjahr geboren race ethnicity ethnic nationality nation \
    citizenship country staat land native marital familienstand married education bildung \
    occupation profession beruf job workclass city town stadt ort wohnort county district \
    region state bundesland province municipality gemeinde language children kinder household \
    family height weight prefix";
const SENSITIVE: &str = "\
    disease diagnosis diagnoses diagnose diagnosen icd icd10 illness condition krankheit \
    salary income gehalt lohn einkommen wage wages earnings debt balance religion konfession \
    hiv aids std cancer krebs medication medikament drug treatment therapy therapie procedure \
    political party partei vote union orientation conviction crime offense score rating \
    symptom allergy disability grade pregnant";

/// What a name hints at, if anything.
pub fn hint(name: &str) -> Option<Hint> {
    let words = words(name);
    let has = |list: &str| words.iter().any(|word| is_in(word, list));
    let is_only = |list: &str| words.iter().all(|word| is_in(word, list));
    let is_id = has(ID) || words.iter().any(|word| word.len() > 3 && word.ends_with("id"));
    if words.is_empty() {
        return None;
    }
    if is_id && (has(PERSON) || words.iter().any(|word| is_person_id(word))) {
        return Some(Hint::PersonId);
    }
    if is_only(PERSON) && !has("household") || is_only("id pid mrn uid uuid") {
        return Some(Hint::PersonId);
    }
    if has(POSTAL) {
        return Some(Hint::Postal);
    }
    if has(SENSITIVE) {
        return Some(Hint::Sensitive);
    }
    if has(QUASI) && !has("family") {
        return Some(Hint::Quasi);
    }
    if is_direct(&words) {
        return Some(Hint::Direct);
    }
    if has(ID) {
        return Some(Hint::Id);
    }
    has(QUASI).then_some(Hint::Quasi)
}

/// Whether a column is named like what identifies a person: their name, or a number of theirs.
pub(crate) fn names_a_person(column: &str) -> bool {
    matches!(hint(column), Some(Hint::Direct | Hint::PersonId))
}

/// A `name` of something that is no person, such as a product, names nobody.
fn is_direct(words: &[String]) -> bool {
    words.iter().any(|word| match word.as_str() {
        "name" | "names" => {
            let of_person = |other: &String| {
                is_in(other, NAME_OF_PERSON) || is_in(other, PERSON) || other == word
            };
            words.iter().all(of_person)
        }
        word => is_in(word, DIRECT),
    })
}

fn is_in(word: &str, list: &str) -> bool {
    list.split(' ').any(|known| known == word)
}

/// `patientid`, written together.
fn is_person_id(word: &str) -> bool {
    ID.split(' ').any(|id| {
        word.strip_suffix(id).is_some_and(|person| person.len() > 2 && is_in(person, PERSON))
    })
}

/// The lower-case words of a name: cut at everything that is no letter or digit, and where a
/// capital follows a small letter.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut after_small = false;
    for character in name.chars() {
        let cuts = !character.is_alphanumeric() || (after_small && character.is_uppercase());
        if cuts && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        after_small = character.is_lowercase();
        if character.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(character.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_into_lower_case_words() {
        assert_eq!(words("BirthDate"), ["birth", "date"]);
        assert_eq!(words("birth-date_2"), ["birth", "date", "2"]);
        assert_eq!(words("ZIP"), ["zip"]);
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
            ("", None),
            ("日本", None),
        ] {
            assert_eq!(hint(name), expected, "{name}");
        }
    }
}
