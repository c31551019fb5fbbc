//! Layouts: lines above the names, delimiters, columns without names.

use super::cases::Case;
use super::cases::Content::Text;
use super::cases::Outcome::{Refused, Rows};

const fn case(name: &'static str, text: &'static str, rows: &'static [&'static str]) -> Case {
    let outcome = Rows { rows, said: &[] };
    let columns = &["x", "y"];
    Case { name, file: "in.csv", content: Text(text), columns, flags: &[], outcome }
}

const fn said(words: &'static [&'static str], case: Case) -> Case {
    let rows: &'static [&'static str] = match case.outcome {
        Rows { rows, .. } => rows,
        Refused { .. } => &[],
    };
    Case { outcome: Rows { rows, said: words }, ..case }
}

const fn refused(name: &'static str, text: &'static str, said: &'static [&'static str]) -> Case {
    Case { outcome: Refused { said }, ..case(name, text, &[]) }
}

const fn with(flags: &'static [&'static str], case: Case) -> Case {
    Case { flags, ..case }
}

pub const LAYOUTS: &[Case] = &[
    case("an export with a mark and semicolons", "\u{feff}x;y\r\n1;a\r\n2;b\r\n", &["1,a", "2,b"]),
    case("everything in quotes", "\"x\",\"y\"\n\"1\",\"a\"\n\"2\",\"b\"\n", &["1,a", "2,b"]),
    case("a line that says the delimiter", "sep=;\nx;y\n1;a\n2;b\n", &["1,a", "2,b"]),
    case("the same in quotes", "\"sep=;\"\r\nx;y\r\n1;a\r\n2;b\r\n", &["1,a", "2,b"]),
    case("a tab as delimiter that is said", "sep=\t\nx\ty\n1\ta\n2\tb\n", &["1,a", "2,b"]),
    with(
        &["--header"],
        case(
            "the same, above what are said to be names",
            "sep=;\nx;y\n1;a\n2;b\n",
            &["1,a", "2,b"],
        ),
    ),
    Case {
        columns: &["c1", "c2"],
        ..with(
            &["--no-header"],
            case("the same, above rows without names", "sep=;\n1;a\n2;b\n", &["1,a", "2,b"]),
        )
    },
    refused(
        "a range in a record that would be taken for names",
        "F;>85;Bonn\nM;70;Trier\nF;71;Mainz\nM;72;Köln\n",
        &["the first line looks like a record"],
    ),
    refused(
        "a record with no answer that would be taken for names",
        "Ann;keine Angabe;F\nBen;34;M\nCleo;28;F\nDora;45;F\nEmil;50;M\n",
        &["the first line looks like a record"],
    ),
    refused(
        "a record with a number in words that would be taken for names",
        "Ann;ninety;F\nBen;34;M\nCleo;28;F\nDora;45;F\nEmil;50;M\n",
        &["the first line looks like a record"],
    ),
    refused(
        "a title in the first cell of a row",
        "Admissions of 2020,,\n,,\nwho,x,y\nAnn,1,a\nBen,2,b\n",
        &["only the first cell of the first line is filled", "take away the lines above"],
    ),
    said(
        &["a line before the names of the columns was passed over"],
        case("a title line", "Admissions of 2020\nx,y\n1,a\n2,b\n", &["1,a", "2,b"]),
    ),
    said(
        &["3 lines before the names of the columns were passed over"],
        case(
            "title lines, padded, and a blank one",
            "Admissions;;\nof 2020;;\n\nx;y;z\n1;a;7\n2;b;8\n",
            &["1,a", "2,b"],
        ),
    ),
    refused(
        "a line that may be a title, above what may be a person",
        "Anna\nBen,Miller\nCleo,Jones\n",
        &["the first line has one cell, and rows below it have more"],
    ),
    said(
        &["the first column has no name and is called 'row'"],
        case("row numbers of pandas", ",x,y\n0,1,a\n1,2,b\n", &["1,a", "2,b"]),
    ),
    said(
        &["the first column has no name and is called 'row'"],
        case("row names of R", "\"\",\"x\",\"y\"\n\"1\",1,\"a\"\n\"2\",2,\"b\"\n", &["1,a", "2,b"]),
    ),
    said(
        &["the first column has no name and is called 'row'"],
        case(
            "row names of R that have no place in the first line",
            "\"x\",\"y\"\n\"1\",7,\"a\"\n\"2\",8,\"b\"\n",
            &["7,a", "8,b"],
        ),
    ),
    said(
        &["is called 'row_'"],
        case(
            "row numbers beside a column named row",
            ",x,y,row\n0,1,a,9\n1,2,b,8\n",
            &["1,a", "2,b"],
        ),
    ),
    refused(
        "names of rows that are no numbers",
        "x,y\nAnna,1,a\nBen,2,b\n",
        &["the row has 3 cells where the header has 2"],
    ),
    said(
        &["a column at the end without a name and without cells was passed over"],
        case("delimiters at the ends of lines", "x;y;\n1;a;\n2;b;\n", &["1,a", "2,b"]),
    ),
    said(
        &["a column at the end"],
        case("delimiters at the ends of rows only", "x;y\n1;a;\n2;b;\n", &["1,a", "2,b"]),
    ),
    said(
        &["3 columns at the end"],
        case("empty columns of a spreadsheet", "x;y;;;\n1;a;;;\n2;b;;;\n", &["1,a", "2,b"]),
    ),
    refused(
        "a column without a name that has cells",
        "x;y;\n1;a;7\n2;b;\n",
        &["column 3 has no name"],
    ),
    refused(
        "a column without a name in the middle",
        "x;;y\n1;7;a\n2;8;b\n",
        &["column 2 has no name"],
    ),
    with(
        &["--delimiter", ","],
        refused("a delimiter that is not the table's", "x;y\n1;a\n2;b\n", &["--delimiter ';'"]),
    ),
    refused(
        "a delimiter that nobody guesses",
        "x^y\n1^a\n2^b\n",
        &["one column", "--delimiter '^'"],
    ),
    with(&["--delimiter", "^"], case("the same, said", "x^y\n1^a\n2^b\n", &["1,a", "2,b"])),
    case(
        "commas in a name of a table with semicolons",
        "x;y;note (a, b, c, d)\n1;a;e\n2;b;f\n",
        &["1,a", "2,b"],
    ),
    case("tabs in a file that ends in .csv", "x\ty\n1\ta\n2\tb\n", &["1,a", "2,b"]),
    case("bars", "x|y\n1|a\n2|b\n", &["1,a", "2,b"]),
    case("blank lines", "\n\nx,y\n\n1,a\n\n2,b\n\n", &["1,a", "2,b"]),
    case("blanks around names", " x , y \n1,a\n2,b\n", &["1,a", "2,b"]),
    case("quotes in quotes", "x,y\n1,\"a \"\"b\"\"\"\n2,c\n", &["1,\"a \"\"b\"\"\"", "2,c"]),
    case("no line end after the last row", "x,y\n1,a\n2,b", &["1,a", "2,b"]),
    refused("old line ends", "x,y\r1,a\r2,b\r", &["carriage return"]),
    refused(
        "a delimiter too many in rows that are numbered",
        "x,name,y\n1,Ann,45,3\n2,Ben,50,1\n3,Cleo,61,2\n",
        &["the row has 4 cells where the header has 3"],
    ),
    refused(
        "a person above one whose number is not there",
        "Ann,\nBen,--\nCleo,34\nDora,35\nEmil,36\n",
        &["column 2 has no name"],
    ),
    said(
        &[],
        case(
            "a line break in the first name",
            "\"x\nof it\";x;y\nAnn;1;a\nBen;2;b\nCleo;3;c\n",
            &["1,a", "2,b", "3,c"],
        ),
    ),
    refused(
        "columns of a fixed width",
        "id        x    y\n1        10    3\n2        20    4\n",
        &["fixed width", "read_fwf"],
    ),
    refused("no rows", "x,y\n", &["no rows"]),
    refused("nothing", "", &["empty"]),
    refused(
        "a row that is too short",
        "x,y\n1,a\n2\n",
        &["line 3", "1 cell where the header has 2", "lines below it"],
    ),
    refused("two columns of one name", "x,x,y\n1,2,a\n3,4,b\n", &["both named 'x'"]),
];
