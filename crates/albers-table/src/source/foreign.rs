//! Files that are no tables to us, by what they are, with the command that makes a table of them.

use crate::TableError;

use super::table_error;

/// A kind of file that is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Foreign {
    /// What it is, after "this is".
    what: &'static str,
    /// What makes a table of it, with `FILE` for its name.
    hint: &'static str,
    /// How its name ends, in small letters.
    endings: &'static [&'static str],
    /// What it begins with; places in the file, and bytes there.
    magic: &'static [(usize, &'static [u8])],
}

const SPSS: &str = "convert it: python3 -c \"import pandas as p; \
     p.read_spss('FILE', convert_categoricals=False).convert_dtypes().to_csv('FILE.csv', \
     index=False)\" (needs pandas and pyreadstat)";
const STATA: &str = "convert it: python3 -c \"import pandas as p; \
     p.read_stata('FILE', convert_categoricals=False).to_csv('FILE.csv', index=False)\" (needs \
     pandas)";
const RDS: &str =
    "convert it: Rscript -e \"write.csv(readRDS('FILE'), 'FILE.csv', row.names = FALSE, na = '')\"";
const RDATA: &str = "convert it: Rscript -e \"write.csv(get(load('FILE')[1]), 'FILE.csv', \
     row.names = FALSE, na = '')\"";
const NOT_DATA: &str = "ask for the data that it was made of, as CSV or a spreadsheet";
const OFFICE: &str =
    "save it as .xlsx, for example with: soffice --headless --convert-to xlsx 'FILE'";

/// All kinds; those that share their first bytes tell themselves apart by their endings.
const KINDS: &[Foreign] = &[
    Foreign {
        what: "a file of SPSS",
        hint: SPSS,
        endings: &["sav", "zsav"],
        magic: &[(0, b"$FL2"), (0, b"$FL3")],
    },
    Foreign {
        what: "a file of Stata",
        hint: STATA,
        endings: &["dta"],
        magic: &[
            (0, b"<stata_dta>"),
            (0, b"\x71\x01\x01\x00"),
            (0, b"\x71\x02\x01\x00"),
            (0, b"\x72\x01\x01\x00"),
            (0, b"\x72\x02\x01\x00"),
            (0, b"\x73\x01\x01\x00"),
            (0, b"\x73\x02\x01\x00"),
        ],
    },
    Foreign {
        what: "a table of SAS",
        hint: "convert it: python3 -c \"import pandas as p; p.read_sas('FILE', \
               format='sas7bdat', encoding='infer').convert_dtypes().to_csv('FILE.csv', \
               index=False)\" (needs \
               pandas)",
        endings: &["sas7bdat"],
        magic: &[(
            0,
            b"\0\0\0\0\0\0\0\0\0\0\0\0\xc2\xea\x81\x60\xb3\x14\x11\xcf\xbd\x92\x08\x00\x09\xc7",
        )],
    },
    Foreign {
        what: "a transport file of SAS",
        hint: "convert it: python3 -c \"import pandas as p; p.read_sas('FILE', format='xport', \
               encoding='utf-8').convert_dtypes().to_csv('FILE.csv', index=False)\" (needs pandas)",
        endings: &["xpt"],
        magic: &[(0, b"HEADER RECORD*******LIB")],
    },
    Foreign {
        what: "a workspace of R",
        hint: RDATA,
        endings: &["rdata", "rda"],
        magic: &[(0, b"RDX2\n"), (0, b"RDX3\n"), (0, b"RDA2\n"), (0, b"RDA3\n")],
    },
    Foreign {
        what: "an object of R",
        hint: RDS,
        endings: &["rds"],
        magic: &[(0, b"X\n\0\0\0\x02"), (0, b"X\n\0\0\0\x03")],
    },
    Foreign {
        what: "an Arrow or Feather file",
        hint: "convert it: python3 -c \"import pandas as p; \
               p.read_feather('FILE').to_parquet('FILE.parquet')\" (needs pandas and pyarrow)",
        endings: &["feather", "arrow"],
        magic: &[(0, b"ARROW1\0\0"), (0, b"FEA1")],
    },
    Foreign {
        what: "a database of SQLite",
        hint: "export a table of it: sqlite3 -header -csv 'FILE' 'select * from TABLE' > TABLE.csv",
        endings: &["sqlite", "sqlite3", "db"],
        magic: &[(0, b"SQLite format 3\0")],
    },
    Foreign {
        what: "a database of Access",
        hint: "export a table of it: mdb-export 'FILE' TABLE > TABLE.csv (of mdbtools)",
        endings: &["mdb", "accdb"],
        magic: &[(4, b"Standard Jet DB"), (4, b"Standard ACE DB")],
    },
    Foreign { what: "a PDF", hint: NOT_DATA, endings: &["pdf"], magic: &[(0, b"%PDF-")] },
    Foreign {
        what: "a picture",
        hint: NOT_DATA,
        endings: &["png", "jpg", "jpeg", "gif", "tif", "tiff", "bmp", "webp"],
        magic: &[
            (0, b"\x89PNG\r\n\x1a\n"),
            (0, b"\xff\xd8\xff"),
            (0, b"GIF87a"),
            (0, b"GIF89a"),
            (0, b"II*\0"),
            (0, b"MM\0*"),
        ],
    },
    Foreign {
        what: "an archive of 7-Zip",
        hint: "unpack it: 7z x 'FILE'",
        endings: &["7z"],
        magic: &[(0, b"7z\xbc\xaf\x27\x1c")],
    },
    Foreign {
        what: "an archive of tar",
        hint: "unpack it: tar -xf 'FILE'",
        endings: &["tar", "tgz"],
        magic: &[(257, b"ustar")],
    },
    Foreign {
        what: "a file packed by bzip2",
        hint: "unpack it: bunzip2 -k 'FILE'",
        endings: &["bz2"],
        magic: &[(0, b"BZh91AY&SY"), (0, b"BZh61AY&SY"), (0, b"BZh11AY&SY")],
    },
    Foreign {
        what: "a file packed by xz",
        hint: "unpack it: unxz -k 'FILE'",
        endings: &["xz"],
        magic: &[(0, b"\xfd7zXZ\0")],
    },
    Foreign {
        what: "an ARFF file of Weka",
        hint: "convert it: python3 -c \"import pandas as p, scipy.io.arff as a; \
               p.DataFrame(a.loadarff('FILE')[0]).map(lambda v: v.decode() if isinstance(v, bytes) \
               else v).to_csv('FILE.csv', index=False)\" (needs pandas and scipy)",
        endings: &["arff"],
        magic: &[],
    },
    Foreign {
        what: "a page of HTML",
        hint: "take the first table of it: python3 -c \"import pandas as p; \
               p.read_html('FILE')[0].to_csv('FILE.csv', index=False)\" (needs pandas and lxml)",
        endings: &["html", "htm"],
        magic: &[],
    },
    Foreign {
        what: "XML",
        hint: "convert it: python3 -c \"import pandas as p; \
               p.read_xml('FILE').to_csv('FILE.csv', index=False)\" (needs pandas and lxml)",
        endings: &["xml"],
        magic: &[],
    },
    Foreign {
        what: "GeoJSON",
        hint: "write one object per line: jq -c '.features[].properties' 'FILE' > 'FILE.jsonl'",
        endings: &["geojson"],
        magic: &[],
    },
    Foreign { what: "a workbook of old Excel", hint: OFFICE, endings: &["xls"], magic: &[] },
    Foreign { what: "a binary workbook of Excel", hint: OFFICE, endings: &["xlsb"], magic: &[] },
    Foreign {
        what: "a text document",
        hint: NOT_DATA,
        endings: &["doc", "docx", "odt"],
        magic: &[],
    },
    Foreign {
        what: "an archive of zip",
        hint: "unpack it: unzip 'FILE'",
        endings: &["zip"],
        magic: &[],
    },
];

impl Foreign {
    /// The kind that the first bytes of a file tell.
    pub(super) fn of_content(first: &[u8]) -> Option<Foreign> {
        let begins = |(at, bytes): &(usize, &[u8])| {
            first.get(*at..).is_some_and(|rest| rest.starts_with(bytes))
        };
        let by_magic = KINDS.iter().find(|kind| kind.magic.iter().any(begins)).copied();
        by_magic.or_else(|| markup(first))
    }

    /// The kind that an ending stands for.
    pub(super) fn of_ending(ending: &str) -> Option<Foreign> {
        KINDS.iter().find(|kind| kind.endings.contains(&ending)).copied()
    }

    /// Refuses a file of this kind.
    pub(super) fn refuse(self, table: &str) -> TableError {
        let hint = match is_plain(table) {
            true => self.hint.replace("FILE", table),
            false => self.hint.to_owned(),
        };
        table_error(table, format!("this is {}, which is not read", self.what), hint)
    }
}

/// HTML and XML, however they begin.
fn markup(first: &[u8]) -> Option<Foreign> {
    let text = first.strip_prefix(b"\xef\xbb\xbf").unwrap_or(first).trim_ascii_start();
    let begins = |with: &str| {
        text.get(..with.len()).is_some_and(|own| own.eq_ignore_ascii_case(with.as_bytes()))
    };
    let html = ["<!doctype html", "<html", "<table", "<meta", "<head"];
    let has_html = || memchr::memmem::find(&text.to_ascii_lowercase(), b"<html").is_some();
    if html.into_iter().any(begins) || (begins("<?xml") && has_html()) {
        Foreign::of_ending("html")
    } else if begins("<?xml") {
        Foreign::of_ending("xml")
    } else {
        None
    }
}

/// The name of a file as commands take it, or what stands for it where it would need care.
pub(super) fn in_a_command(table: &str) -> &str {
    if is_plain(table) { table } else { "FILE" }
}

/// Whether a name means the same in a shell, in quotes or not.
fn is_plain(table: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._-/".contains(letter);
    !table.is_empty() && !table.starts_with('-') && table.chars().all(is_plain)
}
