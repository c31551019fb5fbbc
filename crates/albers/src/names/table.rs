//! The words of names, and what they say: one table for all languages.
//!
//! Words are in lower case and without accents (`é` is `e`, `ü` is `ue`). Entries stand between
//! spaces; the first row that has an entry of a name decides.
//!
//! | entry | a name that |
//! | --- | --- |
//! | `birth` | has the word |
//! | `visit+date` | has both words, wherever they stand |
//! | `geburts*`, `*nummer` | has a word that begins, or ends, like this |
//! | `=name` | has no other words |
//! | `@person`, `@id`, `@date` | has a word of that list |

use super::Hint;

/// A row of the table.
pub struct Known {
    /// What a column of such a name is, with its article.
    pub what: &'static str,
    /// What that means for it.
    pub hint: Hint,
    /// The names.
    pub entries: &'static str,
}

/// Lists that entries may name.
pub const LISTS: &[(&str, &str)] = &[
    ("@person", PERSON),
    ("@id", ID),
    ("@date", "date dates datetime timestamp datum day tag year jahr annee ano fecha jour dia"),
    ("@kin", "first last middle given family full maiden user nick second birth own famille"),
];

const PERSON: &str = "\
    patient patienten person customer client subject member user employee student participant \
    respondent citizen resident voter insured household pat cust emp donor worker kunde \
    kunden mitarbeiter versicherten versicherter proband schueler patiente personne employe \
    salarie utilisateur etudiant assure adherent paciente cliente persona empleado usuario \
    estudiante alumno miembro asegurado sujeto sujet individual individuals individuo individu \
    individus subj pt";

const ID: &str = "\
    id ids identifier nr no num number nummer key uuid guid mrn pid uid hash token account \
    record serial ref reference pseudonym identifiant identificador numero matricule codigo \
    kennung *nummer";

/// All that is known, what weighs more before what weighs less.
pub const TABLE: &[Known] = &[
    Known {
        what: "the number of a person or of a record",
        hint: Hint::PersonId,
        entries: "@person+@id =id =pid =mrn =uid =uuid =guid mrn case+@id medical+record \
            record+@id study+@id admission+@id encounter+@id encounterid caseid \
            recordid studyid subjid usubjid fallnummer fallnr patientennummer \
            kundennummer versichertennummer personalnummer patientenid aktenzeichen \
            dossier+@id historia+clinica expediente =patient =person =customer \
            =client =subject =member =user =employee =student =participant \
            =respondent =citizen =resident =voter =insured =kunde =mitarbeiter \
            =paciente =cliente =persona =personne =patiente \
            pidnum pidn ptid ptno ptnum idnum idno idnr seqn =seqno",
    },
    Known {
        what: "a number that an authority or insurer gave to a person",
        hint: Hint::Direct,
        entries: "ssn nss passport passeport pasaporte reisepass* ausweis* \
            personalausweis* dni nie nif curp cpf nino nir iban bic tin itin \
            steuernummer steuerid steueridentifikations* tax+@id taxid vat+@id \
            insurance+@id insurance+policy policy+@id health+plan poliza \
            assurance+@id assurance+n numero+assurance versicherungsnummer \
            versicherungsnr krankenkassennummer krankenkassennr sozialversicherungs* \
            krankenversicherungs* kvnr rvnr social+security securite+sociale \
            seguridad+social numero+seguro licence+@id license+@id =licence =license \
            lizenznummer lizenznr \
            licence+plate license+plate driver+licence driver+license fuehrerschein* \
            kennzeichen permis+conduire permiso+conducir matricula national+@id \
            identity+card credit+card card+@id",
    },
    Known {
        what: "the region of a number",
        hint: Hint::Quasi,
        entries: "prefix vorwahl area+code dialling+code dialing+code",
    },
    Known {
        what: "a way to reach a person",
        hint: Hint::Direct,
        entries: "email mail emails courriel correo phone telephone telefon* telefono tel \
            mobile handy handynummer movil celular cellphone fax url uri website \
            homepage webseite ip ipv4 ipv6 imei mac+address device+@id twitter \
            facebook instagram",
    },
    Known {
        what: "a postal code",
        hint: Hint::Postal,
        entries: "zip zips zipcode postal postcode postalcode plz postleitzahl cp+code \
            code+postal codepostal codigo+postal codigopostal",
    },
    Known {
        what: "a date of birth, or a part of one",
        hint: Hint::Quasi,
        entries: "birth birthday birthdate birthyear born dob yob geburt* geboren =geb \
            geb+@date gebdat gebdatum gebjahr jahrgang \
            naissance nacimiento nacido ddn",
    },
    Known {
        what: "a date in the life of a person",
        hint: Hint::Event,
        entries: "visit+@date admission+@date admit+@date admitted+@date discharge+@date \
            death+@date died+@date deceased+@date enrolment+@date enrollment+@date \
            diagnosis+@date surgery+@date hospital+@date visitdate admissiondate \
            dischargedate deathdate dod aufnahmedatum entlassungsdatum entlassdatum \
            todesdatum sterbedatum besuchsdatum aufnahmetag hospitalisation+@date \
            admision+@date alta+@date sortie+@date entree+@date deces+@date \
            visite+@date visita+@date muerte+@date defuncion+@date \
            fallecimiento+@date ingreso+@date",
    },
    Known {
        what: "a remark in free words, in which anything may stand",
        hint: Hint::Notes,
        entries: "note notes comment comments remark remarks memo narrative freetext \
            free+text bemerkung* kommentar* anmerkung* notiz* freitext anamnese \
            remarque* commentaire* comentario* observacion observaciones nota notas",
    },
    Known {
        what: "a religion or a conviction",
        hint: Hint::Sensitive,
        entries: "religion religious religions* glaube konfession confession croyance confesion political party partei \
            parti vote union orientation conviction crime offense politique politica",
    },
    Known {
        what: "a diagnosis, or what was done about it",
        hint: Hint::Sensitive,
        entries: "disease diagnosis diagnoses diagnose diagnosen diagnostic diagnostico dx \
            icd illness condition krankheit maladie enfermedad hiv aids =std cancer \
            krebs medication medikament* medicament* medicamento* drug treatment \
            therapy therapie traitement tratamiento behandlung* procedure symptom \
            symptoms allergy disability pregnant",
    },
    Known {
        what: "an income, a debt or a fortune",
        hint: Hint::Sensitive,
        entries: "salary income gehalt lohn einkommen wage wages earnings debt =balance account+balance bank+balance \
            revenu revenus salaire ingreso ingresos salario sueldo renta",
    },
    Known {
        what: "a mark or a score of a person",
        hint: Hint::Sensitive,
        entries: "score rating grade",
    },
    Known {
        what: "a place where a person lives or was",
        hint: Hint::Quasi,
        entries: "latitude longitude latitud longitud =lat =lon =long =lng breitengrad \
            laengengrad gps geo+lat geo+lon geo+lng lat+lon city town village county \
            district region state province municipality country nation stadt ort \
            wohnort bundesland staat land gemeinde kanton landkreis ville commune \
            pays departement ciudad municipio localidad pais provincia departamento \
            comunidad neighborhood neighbourhood borough quartier barrio",
    },
    Known {
        what: "a trait that others can see or know",
        hint: Hint::Quasi,
        entries: "age ages alter altersgruppe edad sex gender geschlecht geschl sexe sexo genero \
            male female race rasse raza ethnicity ethnic ethnie ethnique etnia ethnische \
            nationality nationalite nacionalidad citizenship staatsangehoerigkeit \
            staatsbuergerschaft native marital married civil+status etat+civil \
            estado+civil familienstand verheiratet situation+familiale language \
            sprache langue idioma children kinder enfants hijos household height \
            weight bmi groesse gewicht taille poids altura estatura peso \
            family+status family+size",
    },
    Known {
        what: "the education or work of a person",
        hint: Hint::Quasi,
        entries: "education educ bildung schulabschluss educacion estudios diplome \
            occupation profession beruf job workclass employment metier ocupacion \
            profesion empleo",
    },
    Known {
        what: "the name or address of a person",
        hint: Hint::Direct,
        entries: "surname surnames lastname firstname forename fullname username nachname \
            vorname familienname prenom apellido apellidos =name =names @kin+name \
            @person+name patientenname kundenname mitarbeitername =nom nom+famille =nombre nombre+@person nom+@person street \
            strasse hausnummer address adresse rue calle direccion domicilio",
    },
    Known {
        what: "the number or name of a row",
        hint: Hint::Id,
        entries: "rowname rownames rownum rowid row+@id row+name row+names unnamed =index \
            =idx =row",
    },
    Known { what: "the number or key of something", hint: Hint::Id, entries: "@id" },
    Known { what: "a trait that others can see or know", hint: Hint::Quasi, entries: "family" },
];
