//! Cells: numbers, dates, missing values and letters.

use Content::{Bytes, In, Text};
use Outcome::{Refused, Rows};

/// A file, how it is read, and what must come out.
pub struct Case {
    pub name: &'static str,
    pub file: &'static str,
    pub content: Content,
    pub columns: &'static [&'static str],
    pub flags: &'static [&'static str],
    pub outcome: Outcome,
}

/// The bytes of a file.
pub enum Content {
    Text(&'static str),
    /// A text in this encoding.
    In(&'static str, &'static str),
    Bytes(&'static [u8]),
}

/// What must come out.
pub enum Outcome {
    /// These rows, as read, and notes with these words.
    Rows { rows: &'static [&'static str], said: &'static [&'static str] },
    /// A refusal with these words.
    Refused { said: &'static [&'static str] },
}

impl Case {
    pub fn bytes(&self) -> Vec<u8> {
        match self.content {
            Text(text) => text.as_bytes().to_vec(),
            Bytes(bytes) => bytes.to_vec(),
            In("utf-16le", text) => {
                let letters = text.encode_utf16().flat_map(u16::to_le_bytes);
                [0xff, 0xfe].into_iter().chain(letters).collect()
            }
            In("utf-16be without a mark", text) => {
                text.encode_utf16().flat_map(u16::to_be_bytes).collect()
            }
            // The letters of Latin-1 have the numbers that Unicode gives them.
            In("latin-1", text) => {
                text.chars().map(|letter| u8::try_from(u32::from(letter)).unwrap()).collect()
            }
            In(other, _) => panic!("nobody knows {other}"),
        }
    }

    /// Whether it is a text in UTF-8.
    pub fn is_text(&self) -> bool {
        matches!(self.content, Text(_))
    }
}

const fn case(name: &'static str, content: Content, outcome: Outcome) -> Case {
    Case { name, file: "in.csv", content, columns: &["x", "y"], flags: &[], outcome }
}

const fn with(flags: &'static [&'static str], case: Case) -> Case {
    Case { flags, ..case }
}

pub const CELLS: &[Case] = &[
    case(
        "decimal commas",
        Text("x;y\n1,5;a\n2,25;b\n-0,5;c\n"),
        Rows { rows: &["1.5,a", "2.25,b", "-0.5,c"], said: &["'x' are read with a decimal comma"] },
    ),
    case(
        "decimal commas and points between thousands",
        Text("x;y\n1.234,5;a\n12.345.678,25;b\n7;c\n"),
        Rows { rows: &["1234.5,a", "12345678.25,b", "7,c"], said: &["decimal comma"] },
    ),
    case(
        "commas between thousands",
        Text("x,y\n\"1,234.5\",a\n\"12,345,678\",b\n7,c\n"),
        Rows { rows: &["1234.5,a", "12345678,b", "7,c"], said: &["separators between thousands"] },
    ),
    case(
        "spaces that do not break between thousands",
        Text("x;y\n1\u{a0}234,5;a\n12\u{202f}345;b\n7;c\n"),
        Rows { rows: &["1234.5,a", "12345,b", "7,c"], said: &["decimal comma"] },
    ),
    case(
        "spaces between thousands of decimals in all cells",
        Text("x;y\n1 234,50;a\n12\u{202f}345,75;b\n"),
        Rows { rows: &["1234.5,a", "12345.75,b"], said: &["decimal comma"] },
    ),
    case(
        "a space that does not break behind a number",
        Text("x;y\n12\u{a0};a\n7;b\n"),
        Rows { rows: &["12,a", "7,b"], said: &["'x' are read"] },
    ),
    case(
        "apostrophes between thousands",
        Text("x;y\n1'234.5;a\n12’345;b\n7;c\n"),
        Rows { rows: &["1234.5,a", "12345,b", "7,c"], said: &["separators between thousands"] },
    ),
    case(
        "telephone numbers are no numbers",
        Text("x,y\n555 123,a\n555 124,b\n"),
        Rows { rows: &["555 123,a", "555 124,b"], said: &[] },
    ),
    case(
        "three digits after a point in a table with semicolons",
        Text("x;y\n45.310;a\n47.250;b\n"),
        Refused { said: &["column 'x'", "two ways", "--decimal point", "--decimal comma"] },
    ),
    with(
        &["--decimal", "comma"],
        case(
            "three digits after a point that stands between thousands",
            Text("x;y\n45.310;a\n47.250;b\n"),
            Rows { rows: &["45310,a", "47250,b"], said: &[] },
        ),
    ),
    with(
        &["--decimal", "point"],
        case(
            "three digits after a decimal point",
            Text("x;y\n45.310;a\n47.250;b\n"),
            Rows { rows: &["45.31,a", "47.25,b"], said: &[] },
        ),
    ),
    case(
        "three digits after a point, where another column has decimal commas",
        Text("x;y\n45.310;0,5\n47.250;1,5\n"),
        Rows { rows: &["45310,0.5", "47250,1.5"], said: &["'x' and 'y' are read with a decimal comma"] },
    ),
    case(
        "three digits after a point, where a dropped column has decimal commas",
        Text("x,y,dropped\n45.310,a,\"0,5\"\n47.250,b,\"1,5\"\n"),
        Refused { said: &["column 'x'", "two ways"] },
    ),
    case(
        "three digits after a point, where a note of an English file has a comma",
        Text("x,y,note\n45.310,1.5,fine\n12.125,2.5,\"1,5\"\n"),
        Refused { said: &["column 'x'", "two ways"] },
    ),
    case(
        "three digits after a point, and an exponent",
        Text("x;y\n45.310;a\n1.234e5;b\n"),
        Refused { said: &["column 'x'", "two ways"] },
    ),
    case(
        "months, of which most are May",
        Text(
            "x;y\n1 May 2020;a\n2 May 2020;a\n3 May 2020;a\n4 May 2020;a\n5 May 2020;a\n\
             6 May 2020;a\n7 May 2020;a\n8 May 2020;a\n9 May 2020;a\n10 May 2020;a\n\
             11 May 2020;a\n12 May 2020;a\n13 May 2020;a\n14 May 2020;a\n15 May 2020;a\n\
             16 May 2020;a\n17 May 2020;a\n18 May 2020;a\n19 May 2020;a\n20 May 2020;a\n\
             3 June 2020;b\n",
        ),
        Rows {
            rows: &[
                "2020-05-01,a",
                "2020-05-02,a",
                "2020-05-03,a",
                "2020-05-04,a",
                "2020-05-05,a",
                "2020-05-06,a",
                "2020-05-07,a",
                "2020-05-08,a",
                "2020-05-09,a",
                "2020-05-10,a",
                "2020-05-11,a",
                "2020-05-12,a",
                "2020-05-13,a",
                "2020-05-14,a",
                "2020-05-15,a",
                "2020-05-16,a",
                "2020-05-17,a",
                "2020-05-18,a",
                "2020-05-19,a",
                "2020-05-20,a",
                "2020-06-03,b",
            ],
            said: &["%d %B %Y"],
        },
    ),
    case(
        "three digits after a point, where no number has a comma",
        Text("x,y\n45.310,a\n47.250,b\n"),
        Rows {
            rows: &["45.31,a", "47.25,b"],
            said: &["'x' are read with a decimal point, though all have three digits after it"],
        },
    ),
    case(
        "three digits after a point, the last a zero, beside whole numbers below a thousand",
        Text("x\ty\n1.234\ta\n980\tb\n12.500\tc\n"),
        Refused { said: &["column 'x'", "two ways", "--decimal comma"] },
    ),
    case(
        "three digits after a point, none at the end a zero, beside a whole number",
        Text("x\ty\n1.234\ta\n980\tb\n12.505\tc\n"),
        Rows {
            rows: &["1.234,a", "12.505,c", "980,b"],
            said: &["'x' are read with a decimal point"],
        },
    ),
    case(
        "three digits after a point, beside a whole number of four digits",
        Text("x,y\n1.234,a\n1980,b\n"),
        Rows { rows: &["1.234,a", "1980,b"], said: &["'x' are read with a decimal point"] },
    ),
    case(
        "three digits after a point, beside days with points",
        Text("x,y\n45.310,31.12.1980\n47.250,1.2.1990\n"),
        Refused { said: &["column 'x'", "two ways"] },
    ),
    case(
        "months of years",
        Text("x;y\n03.2019;a\n12.2019;b\n01.2020;c\n"),
        Rows {
            rows: &["03.2019,a", "12.2019,b", "01.2020,c"],
            said: &["the cells of 'x' are read as text, as they are months"],
        },
    ),
    case(
        "codes that could be numbers with an exponent",
        Text("x;y\n1E10;a\n2E10;b\n"),
        Rows { rows: &["1E10,a", "2E10,b"], said: &[] },
    ),
    case(
        "three digits after a point, with one number of two",
        Text("x;y\n45.310;a\n47.25;b\n"),
        Rows { rows: &["45.31,a", "47.25,b"], said: &[] },
    ),
    case(
        "three digits after a comma",
        Text("x,y\n\"45,310\",a\n\"47,250\",b\n"),
        Refused { said: &["column 'x'", "two ways", "--decimal"] },
    ),
    case(
        "a column of both marks",
        Text("x;y\n1,5;a\n1.5;b\n"),
        Rows { rows: &["\"1,5\",a", "1.5,b"], said: &[] },
    ),
    with(
        &["--type", "x=decimal"],
        case(
            "decimal commas of a column that is said to be decimal",
            Text("x;y\n1,5;a\n2,25;b\n"),
            Rows { rows: &["1.5,a", "2.25,b"], said: &["decimal comma"] },
        ),
    ),
    with(
        &["--type", "x=text"],
        case(
            "decimal commas of a column that is said to be text",
            Text("x;y\n1,5;a\n2,25;b\n"),
            Rows { rows: &["\"1,5\",a", "\"2,25\",b"], said: &[] },
        ),
    ),
    case(
        "a version is no number",
        Text("x,y\n1.2.3,a\n1.10.0,b\n"),
        Rows { rows: &["1.2.3,a", "1.10.0,b"], said: &[] },
    ),
    case(
        "days before months",
        Text("x,y\n31.12.2020,a\n1.2.2020,b\n"),
        Rows { rows: &["2020-12-31,a", "2020-02-01,b"], said: &["'x' are read as %d.%m.%Y"] },
    ),
    case(
        "months before days",
        Text("x,y\n12/31/2020,a\n1/2/2020,b\n"),
        Rows { rows: &["2020-12-31,a", "2020-01-02,b"], said: &["'x' are read as %m/%d/%Y"] },
    ),
    case(
        "days or months",
        Text("x,y\n03/04/2020,a\n05/06/2020,b\n"),
        Refused {
            said: &[
                "column 'x'",
                "two ways, as %d/%m/%Y and as %m/%d/%Y",
                "--date-format 'x=%d/%m/%Y'",
                "--date-format 'x=%m/%d/%Y'",
                "--type 'x=text'",
            ],
        },
    ),
    with(
        &["--date-format", "x=%d/%m/%Y"],
        case(
            "days or months, of which somebody says which",
            Text("x,y\n03/04/2020,a\n05/06/2020,b\n"),
            Rows { rows: &["2020-04-03,a", "2020-06-05,b"], said: &[] },
        ),
    ),
    with(
        &["--date-format", "x=%d/%m/%Y"],
        case(
            "a date that the format does not read",
            Text("x,y\n03/04/2020,a\n05/16/2020,b\n"),
            Refused { said: &["line 3", "column 'x'", "date"] },
        ),
    ),
    case(
        "years of two digits",
        Text("x,y\n31-Dec-20,a\n01-Feb-45,b\n"),
        Refused { said: &["column 'x'", "two digits", "--date-format 'x=%d-%b-%y@1930'"] },
    ),
    with(
        &["--date-format", "x=%d-%b-%y@1930"],
        case(
            "years of two digits from 1930 to 2029",
            Text("x,y\n31-Dec-20,a\n01-Feb-45,b\n"),
            Rows { rows: &["2020-12-31,a", "1945-02-01,b"], said: &[] },
        ),
    ),
    with(
        &["--date-format", "x=%d-%b-%y"],
        case(
            "a format that does not tell the century",
            Text("x,y\n31-Dec-20,a\n"),
            Refused { said: &["century", "@1930"] },
        ),
    ),
    with(
        &["--date-format", "x=dd.mm.yyyy"],
        case(
            "a format that is none",
            Text("x,y\n31.12.2020,a\n"),
            Refused { said: &["no format of dates", "%d.%m.%Y"] },
        ),
    ),
    case(
        "names of months",
        Text("x;y\n31 December 2020;a\n3 May 1999;b\n"),
        Rows { rows: &["2020-12-31,a", "1999-05-03,b"], said: &["%d %B %Y"] },
    ),
    case(
        "months before days, in words",
        Text("x;y\nDec 31, 2020;a\nMay 3, 1999;b\n"),
        Rows { rows: &["2020-12-31,a", "1999-05-03,b"], said: &["%b %d, %Y"] },
    ),
    case(
        "dates of other programs",
        Text("x,y\n31DEC2020,a\n01FEB1999,b\n"),
        Rows { rows: &["2020-12-31,a", "1999-02-01,b"], said: &["%d%b%Y"] },
    ),
    case(
        "years first, with strokes",
        Text("x,y\n2020/12/31,a\n1999/2/1,b\n"),
        Rows { rows: &["2020-12-31,a", "1999-02-01,b"], said: &["%Y/%m/%d"] },
    ),
    case(
        "days and times",
        Text("x,y\n31.12.2020 14:30,a\n01.02.1999 07:05,b\n"),
        Rows {
            rows: &["2020-12-31 14:30:00,a", "1999-02-01 07:05:00,b"],
            said: &["%d.%m.%Y %H:%M"],
        },
    ),
    case(
        "halves of days",
        Text("x,y\n12/31/2020 2:30:05 PM,a\n2/1/1999 12:05:00 AM,b\n"),
        Rows {
            rows: &["2020-12-31 14:30:05,a", "1999-02-01 00:05:00,b"],
            said: &["%m/%d/%Y %I:%M:%S %p"],
        },
    ),
    with(
        &["--date-format", "x=%Y%m%d"],
        case(
            "days in eight digits",
            Text("x,y\n20201231,a\n19990201,b\n"),
            Rows { rows: &["2020-12-31,a", "1999-02-01,b"], said: &[] },
        ),
    ),
    with(
        &["--date-format", "x=%d.%m.%Y", "--type", "x=integer"],
        case(
            "a format of dates for numbers",
            Text("x,y\n31.12.2020,a\n"),
            Refused { said: &["--date-format 'x=%d.%m.%Y'", "integer"] },
        ),
    ),
    with(
        &["--date-format", "z=%d.%m.%Y"],
        case(
            "a format for a column that is not there",
            Text("x,y\n31.12.2020,a\n"),
            Refused { said: &["there is no column 'z'"] },
        ),
    ),
    case(
        "known texts for missing numbers",
        Text("x,y\n1,a\nNA,b\n3,c\n?,d\n-,e\n.,f\nNULL,g\nnone,h\nunknown,i\nN/A,j\nNaN,k\n"),
        Rows {
            rows: &["1,a", ",b", "3,c", ",d", ",e", ",f", ",g", ",h", ",i", ",j", ",k"],
            said: &["9 cells of 'x' are taken for missing"],
        },
    ),
    case(
        "the same among names are names",
        Text("x,y\nFR,a\nNA,b\nDE,c\n?,d\n"),
        Rows {
            rows: &["FR,a", "NA,b", "DE,c", "?,d"],
            said: &["cells of 'x' (1) say NA, NULL or the like"],
        },
    ),
    case(
        "the same among dates, and in a format",
        Text("x,y\n31.12.2020,a\nunknown,b\n1.2.2020,c\n"),
        Rows {
            rows: &["2020-12-31,a", ",b", "2020-02-01,c"],
            said: &["a cell of 'x' is taken for missing", "%d.%m.%Y"],
        },
    ),
    case(
        "the same among codes",
        Text("x,y\n01067,a\nNA,b\n99998,c\n"),
        Rows { rows: &["01067,a", ",b", "99998,c"], said: &["a cell of 'x'"] },
    ),
    with(
        &["--missing", "x=99"],
        case(
            "a text that is missing in one column",
            Text("x,y\n1,99\n99,98\n3,97\n"),
            Rows { rows: &["1,99", ",98", "3,97"], said: &[] },
        ),
    ),
    with(
        &["--missing", "99"],
        case(
            "a text that is missing in all columns",
            Text("x,y\n1,99\n99,98\n3,97\n"),
            Rows { rows: &["1,", ",98", "3,97"], said: &[] },
        ),
    ),
    with(
        &["--missing", "a=b"],
        case(
            "a text that looks like a setting of a column",
            Text("x,y\n1,a=b\n2,c\n"),
            Rows { rows: &["1,", "2,c"], said: &[] },
        ),
    ),
    with(
        &["--type", "x=integer"],
        case(
            "a text that is no number and not known",
            Text("x,y\n1,a\nnobody,b\n"),
            Refused { said: &["line 3", "column 'x'", "--missing"] },
        ),
    ),
    case(
        "months without zeros before them",
        Text("x,y\n5.2020,a\n12.2019,b\n3.2018,a\n"),
        Rows {
            rows: &["5.2020,a", "12.2019,b", "3.2018,a"],
            said: &["the cells of 'x' are read as text, as they are months"],
        },
    ),
    case(
        "a rate that looks like months",
        Text("x,y\n1.2010,a\n1.1985,b\n2.2000,a\n"),
        Rows { rows: &["1.201,a", "1.1985,b", "2.2,a"], said: &[] },
    ),
    case(
        "days without separators",
        Text("x,y\n20201231,a\n19850228,b\n"),
        Rows {
            rows: &["20201231,a", "19850228,b"],
            said: &["'x' are read as whole numbers, though all could be days"],
        },
    ),
    with(
        &["--date-format", "x=%Y%m%d"],
        case(
            "days without separators that somebody says",
            Text("x,y\n20201231,a\n19850228,b\n"),
            Rows { rows: &["2020-12-31,a", "1985-02-28,b"], said: &[] },
        ),
    ),
    case(
        "whole numbers of eight digits that are no days",
        Text("x,y\n20201231,a\n19850229,b\n"),
        Rows { rows: &["20201231,a", "19850229,b"], said: &[] },
    ),
    case(
        "dates of which some have the day first and some the month",
        Text(
            "x,y\n01/02/2020,a\n02/03/2020,b\n03/04/2020,a\n04/05/2020,b\n05/06/2020,a\n\
             06/07/2020,b\n07/08/2020,a\n08/09/2020,b\n09/10/2020,a\n10/11/2020,b\n\
             11/12/2020,a\n01/03/2020,b\n02/04/2020,a\n03/05/2020,b\n04/06/2020,a\n\
             05/07/2020,b\n06/08/2020,a\n07/09/2020,b\n08/10/2020,a\n31/12/2020,b\n12/31/2020,a\n",
        ),
        Refused { said: &["two ways", "some are dates only as the one, some only as the other"] },
    ),
    case(
        "what a spreadsheet in German shows for no value",
        Text("x;y\n1;a\n#NV;b\n2,5;c\n"),
        Rows { rows: &["1,a", ",b", "2.5,c"], said: &["a cell of 'x' is taken for missing"] },
    ),
    Case {
        file: "in.jsonl",
        ..case(
            "texts of JSON that are one number or another",
            Text("{\"x\":\"45.310\",\"y\":\"a\"}\n{\"x\":\"980\",\"y\":\"b\"}\n"),
            Refused { said: &["column 'x'", "two ways", "--decimal"] },
        )
    },
    Case {
        file: "in.jsonl",
        ..case(
            "texts of JSON that are likely decimals",
            Text("{\"x\":\"45.310\",\"y\":\"a\"}\n{\"x\":\"4.750\",\"y\":\"b\"}\n"),
            Rows {
                rows: &["45.31,a", "4.75,b"],
                said: &["'x' are read with a decimal point, though all have three digits after it"],
            },
        )
    },
    Case {
        file: "in.jsonl",
        ..case(
            "texts of JSON with a decimal comma",
            Text("{\"x\":\"1,5\",\"y\":\"a\"}\n{\"x\":\"2,25\",\"y\":\"b\"}\n"),
            Rows {
                rows: &["\"1,5\",a", "\"2,25\",b"],
                said: &["the cells of 'x' are read as text: they are texts that look like numbers"],
            },
        )
    },
    case(
        "Windows-1252",
        In("latin-1", "x;y\nKöln;1\nDüren;2\nFüssen;3\n"),
        Rows { rows: &["Köln,1", "Düren,2", "Füssen,3"], said: &["read as windows-1252"] },
    ),
    case(
        "names of columns in Windows-1252",
        Bytes(b"x;y;Stra\xdfe;Gr\xf6\xdfe\nK\xf6ln;1;a;b\nBonn;2;c;d\n"),
        Rows { rows: &["Köln,1", "Bonn,2"], said: &["read as windows-1252"] },
    ),
    case(
        "UTF-16 with a mark",
        In("utf-16le", "x\ty\r\nKöln\t1\r\nDüren\t2\r\n"),
        Rows { rows: &["Köln,1", "Düren,2"], said: &["read as UTF-16LE"] },
    ),
    case(
        "UTF-16 without a mark",
        In("utf-16be without a mark", "x,y\nKöln,1\nDüren,2\n"),
        Rows { rows: &["Köln,1", "Düren,2"], said: &["read as UTF-16BE"] },
    ),
    Case {
        file: "in.xls",
        ..case(
            "UTF-16 that a spreadsheet program names as a workbook",
            In("utf-16le", "x\ty\r\nKöln\t1\r\nDüren\t2\r\n"),
            Rows { rows: &["Köln,1", "Düren,2"], said: &["read as UTF-16LE"] },
        )
    },
    case(
        "letters as DOS stores them",
        Bytes(b"x;y\nK\x94ln;1\nD\x81ren;2\nF\x81ssen;3\n"),
        Refused { said: &["not UTF-8", "iconv -f CP850", "--encoding macintosh"] },
    ),
    with(
        &["--encoding", "latin1"],
        case(
            "Latin-1 that somebody says",
            In("latin-1", "x;y\nKöln;1\nDüren;2\n"),
            Rows { rows: &["Köln,1", "Düren,2"], said: &[] },
        ),
    ),
    with(
        &["--encoding", "klingon"],
        case(
            "an encoding that is none",
            Text("x,y\n1,a\n"),
            Refused { said: &["no encoding", "windows-1252"] },
        ),
    ),
    case(
        "UTF-8 with a broken letter",
        Bytes(b"x,y\nK\xc3\xb6ln,1\nD\xc3\xbcren,2\nF\xfcssen,3\n"),
        Refused { said: &["line 4", "column 'x'", "UTF-8"] },
    ),
    case(
        "an encoding that is not told for sure",
        Bytes(b"x;y\n\xcc\xee\xf1\xea\xe2\xe0;1\n\xca\xe0\xe7\xe0\xed\xfc;2\n\xd1\xe0\xec\xe0\xf0\xe0;3\n"),
        Refused { said: &["not UTF-8", "--encoding"] },
    ),
];
