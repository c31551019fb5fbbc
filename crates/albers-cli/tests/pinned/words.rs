//! The tables of the drawn jobs, by the words that they fill into flags.

use super::factors::{
    MANY_NAMES, NO_IDENTIFIER, NO_KEEP, NO_MISSING_TEXT, NO_NUMBER, NO_SECOND, NO_SUBJECT, SMALL,
};

/// A table, by the words that it fills into flags.
pub struct Table {
    /// What it has not, as bits.
    pub gives: u32,
    /// What stands for each word.
    pub words: &'static [(&'static str, &'static str)],
}

pub const TABLES: [Table; 7] = [
    Table {
        gives: NO_NUMBER | NO_SUBJECT | NO_MISSING_TEXT | SMALL,
        words: &[
            ("table", "adult"),
            ("k", "4"),
            ("also", "9,40"),
            ("quasi", "age,sex,education,workclass"),
            ("some", "--hierarchy education=tables/adult-trees/education.csv"),
            (
                "built-in",
                "--hierarchy age=ranges:5,10,40 --hierarchy sex=suppress \
                 --hierarchy education=prefix --hierarchy workclass=suppress",
            ),
            (
                "files",
                "--hierarchy age=tables/adult-trees/age.csv \
                 --hierarchy sex=tables/adult-trees/sex.csv \
                 --hierarchy education=tables/adult-trees/education.csv \
                 --hierarchy workclass=tables/adult-trees/workclass.csv",
            ),
            ("types", "--type sex=code"),
            ("category", "occupation"),
            ("second", "salary-class"),
            ("l", "3"),
            ("entropy", "3.5"),
            ("bias", "age"),
            ("weight", "education"),
            ("level", "age=4,sex=0,education=20,workclass=1"),
            ("keep", "race"),
            ("identifier", "native-country"),
        ],
    },
    Table {
        gives: MANY_NAMES | NO_MISSING_TEXT,
        words: &[
            ("table", "customer"),
            ("k", "5"),
            ("also", "7,12"),
            ("quasi", "gender,birth-date,postal-code,income"),
            ("some", "--hierarchy postal-code=prefix --hierarchy gender=suppress"),
            (
                "built-in",
                "--hierarchy gender=suppress --hierarchy birth-date=dates \
                 --hierarchy postal-code=prefix --hierarchy income=ranges:1000,10000,50000",
            ),
            (
                "files",
                "--hierarchy gender=tables/customer-gender.csv \
                 --hierarchy birth-date=tables/customer-birth-date.csv \
                 --hierarchy postal-code=tables/customer-postal-code.csv \
                 --hierarchy income=tables/customer-income.csv",
            ),
            ("types", "--type postal-code=text --type income=decimal"),
            ("category", "segment"),
            ("number", "children"),
            ("second", "children"),
            ("l", "2"),
            ("entropy", "1.8"),
            ("variance", "0.4"),
            ("subject", "profession"),
            ("bias", "postal-code"),
            ("weight", "birth-date"),
            ("level", "gender=1,birth-date=4,postal-code=4,income=4"),
            ("keep", "city,balance"),
            ("identifier", "phone-prefix"),
            ("budget", "1800KB"),
            ("other-budget", "2500KB"),
        ],
    },
    Table {
        gives: NO_MISSING_TEXT,
        words: &[
            ("table", "agrawal"),
            ("k", "6"),
            ("also", "20"),
            ("quasi", "age,elevel,car,hyears"),
            ("some", "--hierarchy car=ranges:5"),
            (
                "built-in",
                "--hierarchy age=ranges:5,20 --hierarchy elevel=suppress \
                 --hierarchy car=ranges:5,10 --hierarchy hyears=ranges:10",
            ),
            (
                "files",
                "--hierarchy age=tables/agrawal-age.csv \
                 --hierarchy elevel=tables/agrawal-elevel.csv \
                 --hierarchy car=tables/agrawal-car.csv \
                 --hierarchy hyears=tables/agrawal-hyears.csv",
            ),
            ("types", "--type hyears=float"),
            ("category", "class"),
            ("number", "zipcode"),
            ("second", "zipcode"),
            ("l", "2"),
            ("entropy", "1.4"),
            ("variance", "4"),
            ("subject", "hvalue"),
            ("bias", "hyears,age"),
            ("weight", "car"),
            ("level", "age=2,elevel=0,car=3,hyears=2"),
            ("keep", "loan,r7"),
            ("identifier", "commission"),
            ("budget", "1900KB"),
            ("other-budget", "500KB"),
        ],
    },
    Table {
        gives: NO_IDENTIFIER | NO_MISSING_TEXT,
        words: &[
            ("table", "lands-end"),
            ("k", "3"),
            ("also", "7,60"),
            ("quasi", "order-date,gender,price,quantity"),
            ("some", "--hierarchy order-date=dates"),
            (
                "built-in",
                "--hierarchy order-date=dates --hierarchy gender=suppress \
                 --hierarchy price=ranges:100,1000,10000 --hierarchy quantity=suppress",
            ),
            (
                "files",
                "--hierarchy order-date=tables/lands-end-trees/order-date.csv \
                 --hierarchy gender=tables/lands-end-trees/gender.csv \
                 --hierarchy price=tables/lands-end-trees/price.csv \
                 --hierarchy quantity=tables/lands-end-trees/quantity.csv",
            ),
            ("types", "--type price=decimal"),
            ("category", "style"),
            ("number", "cost"),
            ("second", "cost"),
            ("l", "2"),
            ("entropy", "2.5"),
            ("variance", "100000"),
            ("subject", "zipcode"),
            ("bias", "price"),
            ("weight", "order-date"),
            ("level", "order-date=3,gender=1,price=3,quantity=1"),
            ("keep", "shipment"),
            ("budget", "1300KB"),
            ("other-budget", "1500KB"),
        ],
    },
    Table {
        gives: NO_SUBJECT | NO_SECOND | NO_KEEP | NO_IDENTIFIER | NO_MISSING_TEXT | SMALL,
        words: &[
            ("table", "voters"),
            ("k", "5"),
            ("also", "11,30"),
            ("quasi", "age,zipcode"),
            ("some", "--hierarchy zipcode=prefix"),
            ("built-in", "--hierarchy age=ranges:5,25 --hierarchy zipcode=prefix"),
            ("files", "--hierarchy age=suppress --hierarchy zipcode=tables/voters-zipcode.csv"),
            ("types", "--type zipcode=integer"),
            ("category", "salary"),
            ("number", "salary"),
            ("l", "4"),
            ("entropy", "4"),
            ("variance", "40000000"),
            ("bias", "zipcode"),
            ("weight", "age"),
            ("level", "age=2,zipcode=3"),
        ],
    },
    Table {
        gives: SMALL,
        words: &[
            ("table", "visits"),
            ("k", "3"),
            ("also", "8,25"),
            ("quasi", "age,born,city,code,smoker"),
            ("some", "--hierarchy code=prefix --hierarchy born=dates"),
            (
                "built-in",
                "--hierarchy age=ranges:10,50 --hierarchy born=dates --hierarchy city=suppress \
                 --hierarchy code=prefix --hierarchy smoker=suppress",
            ),
            (
                "files",
                "--hierarchy age=ranges:10 --hierarchy born=dates \
                 --hierarchy city=tables/visits-city.csv \
                 --hierarchy code=prefix --hierarchy smoker=suppress",
            ),
            ("types", "--type smoker=text --type age=decimal"),
            ("category", "diagnosis"),
            ("number", "change"),
            ("second", "change"),
            ("l", "2"),
            ("entropy", "1.9"),
            ("variance", "300"),
            ("subject", "person"),
            ("bias", "code"),
            ("weight", "born"),
            ("level", "age=3,born=4,city=0,code=5,smoker=1"),
            ("keep", "note,debt,dose,pay"),
            ("identifier", "row"),
        ],
    },
    Table {
        gives: 0,
        words: &[
            ("table", "clinic"),
            ("k", "5"),
            ("also", "10,50"),
            ("quasi", "seen,change,dose,city"),
            ("some", "--hierarchy city=tables/clinic-city.csv --hierarchy seen=dates"),
            (
                "built-in",
                "--hierarchy seen=dates --hierarchy change=ranges:10,20 \
                 --hierarchy dose=ranges:0.005 --hierarchy city=suppress",
            ),
            (
                "files",
                "--hierarchy seen=dates --hierarchy change=suppress \
                 --hierarchy dose=suppress --hierarchy city=tables/clinic-city.csv",
            ),
            ("types", "--type change=decimal --type dose=float"),
            ("category", "diagnosis"),
            ("number", "debt"),
            ("second", "debt"),
            ("l", "3"),
            ("entropy", "2.5"),
            ("variance", "4000"),
            ("subject", "person"),
            ("bias", "seen"),
            ("weight", "city"),
            ("level", "seen=4,change=3,dose=2,city=0"),
            ("keep", "note,smoker"),
            ("identifier", "row"),
            ("budget", "800KB"),
            ("other-budget", "900KB"),
        ],
    },
];
