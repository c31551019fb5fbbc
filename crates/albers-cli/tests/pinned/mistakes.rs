//! Jobs that are refused, one mistake each.

/// Every mistake, as its arguments.
pub fn jobs() -> impl Iterator<Item = String> {
    MISTAKES.iter().chain(&OTHERS).map(|line| {
        let line = line.replace("{good}", GOOD).replace("{trees}", TREES);
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    })
}

/// What would be a job.
const GOOD: &str = "anonymize tables/voters.csv -o out.csv -k 5 --quasi age,zipcode";
/// And one for the methods that climb hierarchies.
const TREES: &str = "anonymize tables/adult.csv -o out.csv -k 3 --quasi age,sex \
    --hierarchy age=ranges:5 --hierarchy sex=suppress --sensitive occupation";

const MISTAKES: [&str; 92] = [
    // Columns and roles.
    "{good} --quasi height",
    "{good} --keep height",
    "{good} --weight height=2",
    "{good} --sensitive age",
    "{good} --keep age --identifier salary",
    "{good} --subject zipcode",
    "anonymize tables/voters.csv -o out.csv -k 5 --sensitive salary",
    "{good} --weight salary=2",
    "{good} --bias salary --keep salary",
    "{good} --type salary=text",
    "{good} --type zipcode=date",
    "{good} --type age=boolean",
    "{good} --weight age=0",
    "anonymize tables/voters.csv -o out.parquet -k 5 --quasi age,zipcode --hierarchy salary=prefix",
    // Requirements.
    "anonymize tables/voters.csv -o out.csv --quasi age,zipcode",
    "anonymize tables/voters.csv -o out.csv -k 0 --quasi age,zipcode",
    "anonymize tables/voters.csv -o out.csv -k 701 --quasi age,zipcode",
    "anonymize tables/visits.csv -o out.csv -k 408 --quasi age,city --subject person",
    "{good} --l-diversity salary=distinct:3",
    "{good} --sensitive salary --l-diversity salary=distinct:5000",
    "{good} --sensitive salary --l-diversity salary=many",
    "{good} --sensitive salary --t-closeness salary=1.5",
    "{good} --sensitive salary --alpha salary=0",
    "{good} --sensitive salary --alpha salary=0.001",
    "{good} --sensitive salary --variance salary=1e30",
    "anonymize tables/adult.csv -o out.csv -k 5 --quasi age --sensitive sex --alpha sex=0.6",
    "anonymize tables/adult.csv -o out.csv -k 5 --quasi age --sensitive sex
        --l-diversity sex=entropy:1.99",
    "anonymize tables/adult.csv -o out.csv -k 5 --quasi age --sensitive sex --variance sex=1",
    "anonymize tables/adult.csv -o out.csv -k 5 --quasi age --sensitive sex
        --l-diversity sex=entropy:1.99 --method rtree",
    // Flags that have no effect on the method, or contradict it.
    "{good} --granularity cut",
    "{good} --also-k 3",
    "{good} --also-k 9,9",
    "{good} --also-k 900",
    "{good} --method mondrian --also-k 9",
    "{good} --method local --also-k 9",
    "{good} --suppress 0.1",
    "{good} --method local --suppress 0.1",
    "{good} --method local --no-compact",
    "{good} --method local --split median",
    "{good} --minimize height",
    "{good} --level age=1",
    "{good} --method rtree --variant cube",
    "{good} --time 5s",
    "{good} --threads 0",
    "{trees} --method incognito --split compact",
    "{trees} --method incognito --bias age",
    "{trees} --method incognito --no-compact",
    "{trees} --method incognito --categories set",
    "{trees} --method incognito --variant scan",
    "{trees} --method samarati --variant cube",
    "{trees} --method bottom-up --variant cube",
    "{trees} --method incognito --suppress 1.5",
    "{trees} --method incognito --level age=9",
    "{trees} --method incognito --level age=0,sex=0",
    "{trees} --method incognito --level age=1 --minimize height",
    "{trees} --method incognito --time soon",
    "{trees} --method samarati --time 5s",
    "{trees} --method subtree --categories set",
    "{trees} --method ordered-set --categories label",
    "{trees} --method subtree --suppress 0.1 --t-closeness occupation=0.3",
    "{trees} --method tds",
    "{trees} --method tds --target sex --split info-gain",
    "{trees} --method tds --target sex --suppress 0.1",
    "{trees} --method tds --target occupation",
    "{trees} --method bang --split median",
    "{trees} --method bang --scale age=equal:0..100",
    "{trees} --method bang --no-nesting --level-column depth",
    "{trees} --method bang --level-column occupation",
    "{trees} --method mondrian --scale age=equal",
    "{trees} --method grid --level-column depth",
    "{trees} --method grid --epsilon 1 --delta 1e-6",
    "{trees} --method grid --epsilon 1",
    "{trees} --method mondrian --epsilon 1 --delta 1e-6",
    "anonymize tables/adult.csv -o out.csv --quasi age --method grid",
    "{good} --method incognito",
    "{good} --method subtree --hierarchy age=ranges:5",
    // Files.
    "anonymize tables/nobody.csv -o out.csv -k 5 --quasi age",
    "anonymize tables -o out.csv -k 5 --quasi age",
    "anonymize tables/voters.csv -o nowhere/out.csv -k 5 --quasi age",
    "anonymize tables/voters.csv -o out.txt -k 5 --quasi age",
    "anonymize tables/voters.csv -o tables/voters.csv -k 5 --quasi age",
    "anonymize tables/voters.csv -k 5 --quasi age",
    "anonymize tables/bad-cells.csv -o out.csv -k 5 --quasi age",
    "anonymize tables/bad-cell.csv -o out.csv -k 5 --quasi age",
    "anonymize tables/bad-quote.csv -o out.csv -k 5 --quasi age",
    "anonymize tables/bad-header.csv -o out.csv -k 5 --quasi age",
    "anonymize tables/bad-infinite.csv -o out.csv -k 5 --quasi age --type age=float",
    "anonymize tables/bad-empty.csv -o out.csv -k 5 --quasi age",
    "anonymize tables/bad-rows.csv -o out.csv -k 5 --quasi age",
    "anonymize tables/bad-packed.csv.gz -o out.csv -k 5 --quasi age",
    "anonymize tables/bad-whole.parquet -o out.csv -k 5 --quasi age",
    "anonymize --job tables/bad-field.toml tables/voters.csv -o out.csv --quasi age",
];

/// Hierarchies, budgets and the other commands.
const OTHERS: [&str; 32] = [
    "{good} --hierarchy zipcode=prefiks",
    "{good} --hierarchy zipcode=tables/nobody.csv",
    "{good} --hierarchy age=ranges:5,12",
    "{good} --hierarchy age=dates",
    "{good} --hierarchy zipcode=ranges:",
    "{trees} --hierarchy sex=tables/bad-tree-parents.csv",
    "{trees} --hierarchy sex=tables/bad-tree-values.csv",
    "{trees} --hierarchy sex=tables/bad-tree-lengths.csv",
    "{good} --memory many",
    "{good} --memory 256",
    "anonymize tables/clinic.csv -o out.csv -k 5 --quasi age,city --method mondrian --memory 64KB",
    "anonymize tables/clinic.csv -o out.csv -k 5 --quasi age,city --method local --memory 64KB",
    "anonymize tables/clinic.csv -o out.csv -k 5 --quasi row,city --method rtree --memory 64KB",
    "anonymize tables/clinic.csv -o out.csv -k 5 --quasi row --hierarchy row=prefix
        --method incognito --memory 64KB",
    "{good} --method rtree --spill-dir nowhere",
    "anonymize tables/customer.csv -o out.csv -k 5 --quasi city,postal-code --memory 64KB",
    "anonymize tables/customer.csv -o out.csv -k 5 --quasi postal-code --method ordered-set",
    "lattice tables/adult.csv -k 3 --quasi age,sex",
    "lattice tables/adult.csv -k 3 --quasi age --hierarchy age=ranges:5 --method mondrian",
    "lattice tables/adult.csv -k 3 --quasi age --hierarchy age=ranges:5 --minimize height",
    "lattice tables/adult.csv -k 3 --quasi age --hierarchy age=ranges:5 --svg a.svg --time 5s",
    "lattice tables/adult.csv -k 5000 --quasi age --hierarchy age=ranges:5",
    "lattice tables/adult.csv -k 3 --quasi age --hierarchy age=ranges:5 --sensitive sex
        --alpha sex=0.55",
    "lattice tables/clinic.csv -k 3 --quasi row --hierarchy row=prefix --memory 64KB",
    "lattice tables/nobody.csv -k 3 --quasi age --hierarchy age=ranges:5",
    "compact tables/visits.csv tables/decades.csv --key nobody --quasi age -o out.csv",
    "compact tables/visits.csv tables/bad-keys.csv --key row --quasi age -o out.csv",
    "compact tables/visits.csv tables/bad-key.csv --key row --quasi age -o out.csv",
    "compact tables/visits.csv tables/decades.csv --key row --quasi age,city -o out.csv",
    "compact tables/visits.csv tables/decades.csv --key row --quasi age,smoker -o out.csv -k 300",
    "compact tables/visits.csv tables/decades.csv --key row --quasi age,smoker -o out.csv
        --sensitive diagnosis --l-diversity diagnosis=entropy:5.9",
    "compact tables/visits.csv tables/nobody.csv --key row --quasi age,smoker -o out.csv",
];
