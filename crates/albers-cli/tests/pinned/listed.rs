//! Jobs that are written down, since they are about one thing each.

/// Every job that is expected to come to something.
pub fn jobs() -> impl Iterator<Item = String> {
    let lists = [
        ("anonymize", &RELEASES[..]),
        ("anonymize", &SAMPLED[..]),
        ("anonymize", &SPILLING[..]),
        ("lattice", &LATTICES[..]),
        ("compact", &COMPACTIONS[..]),
    ];
    lists.into_iter().flat_map(|(command, lines)| {
        lines.iter().map(move |line| {
            // The lines are broken for the reader; a job is one line.
            let words: Vec<&str> = line.split_whitespace().collect();
            format!("{command} {}", words.join(" "))
        })
    })
}

/// Job files, types of Parquet, points in time with offsets, and the ends of what can be asked for.
const RELEASES: [&str; 62] = [
    "--job tables/job.toml -o out.csv",
    "--job tables/job.toml -o out.parquet -k 4 --split compact --weight age=1 --seed 2",
    "--job tables/job.toml -o out.csv --hierarchy born=suppress --quasi code --keep pay",
    "tables/agrawal.csv -o out.csv -k 5 --quasi age,salary,hvalue --sensitive r7 --keep loan
        --t-closeness r7=0.3 --variance r7=1000000",
    "tables/customer.parquet -o out.parquet -k 5 --quasi birth-date,income --sensitive balance
        --t-closeness balance=0.25",
    "tables/voters.csv --job tables/method.toml -o out.csv -k 5 --quasi age,zipcode
        --hierarchy age=ranges:10 --hierarchy zipcode=prefix",
    "tables/odd.parquet -o out.parquet -k 4 --quasi small,single,long --sensitive word",
    "tables/odd.parquet -o out.csv -k 4 --quasi small,single --sensitive word --keep long
        --l-diversity word=distinct:3",
    "tables/odd.parquet -o out.csv -k 3 --quasi word,long --keep small,single
        --hierarchy word=suppress --hierarchy long=prefix --method incognito",
    "tables/odd.parquet -o out.tsv -k 5 --quasi small,single,word --method ordered-set",
    "tables/zones.csv -o out.csv -k 3 --quasi seen,share --keep far",
    "tables/zones.csv -o out.parquet -k 3 --quasi far,share --keep seen",
    "tables/zones.csv -o out.csv -k 4 --quasi seen,far --hierarchy seen=dates --values bounds",
    "tables/zones.csv -o out.csv -k 4 --quasi far,share --method local",
    "tables/adult.csv -o out.csv -k 5 --quasi age,sex,education --sensitive occupation
        --hierarchy occupation=tables/adult-trees/occupation.csv --t-closeness occupation=0.3",
    "tables/adult.csv -o out.csv -k 5 --quasi age,sex,education --sensitive occupation,salary-class
        --l-diversity occupation=entropy:3 --alpha salary-class=0.9",
    "tables/visits.csv -o out.csv -k 4 --quasi age --sensitive diagnosis,pay --subject person
        --l-diversity diagnosis=distinct:3 --t-closeness pay=0.9 --alpha diagnosis=0.7",
    "tables/visits.csv -o out.csv -k 4 --quasi age,born,code --categories set --values bounds
        --hierarchy age=ranges:10 --hierarchy born=dates --hierarchy code=prefix",
    "tables/visits.parquet -o out.parquet -k 4 --quasi age,born,code --categories set
        --values interval --hierarchy age=ranges:10 --hierarchy born=dates
        --hierarchy code=prefix --no-compact",
    "tables/visits.csv -o out.csv -k 900 --quasi age,city",
    "tables/visits.csv -o out.csv -k 1 --quasi age,city",
    "tables/visits.csv -o out.csv -k 2 --quasi row,person",
    "tables/visits.csv -o out.csv -k 2 --quasi change,debt,dose,seen,pay --method mondrian",
    "tables/visits.csv -o out.csv -k 2 --quasi change,debt,dose,seen,pay --method local",
    "tables/visits.csv -o out.csv -k 407 --quasi age,city --subject person",
    "tables/lands-end.csv -o out.csv -k 2 --quasi quantity,gender --method attribute-suppression",
    "tables/adult.csv -o out.csv -k 3 --quasi age,sex --hierarchy age=ranges:5
        --hierarchy sex=suppress --method incognito --suppress 0",
    "tables/adult.csv -o out.csv -k 3 --quasi age,sex --hierarchy age=ranges:5
        --hierarchy sex=suppress --method subtree --suppress 1",
    "tables/adult.csv -o out.csv -k 3 --quasi age,race,sex --method attribute-suppression
        --level age=1,race=0,sex=1",
    "tables/adult.csv -o out.csv -k 8 --quasi age,sex,race --hierarchy age=ranges:5,10
        --hierarchy sex=suppress --hierarchy race=suppress --method incognito --time 1h",
    "tables/adult.csv -o out.csv -k 8 --quasi age,sex,race --method attribute-suppression
        --time 1h --minimize discernibility",
    "tables/adult.csv -o out.csv -k 5 --quasi age,sex,education,workclass --keep salary-class
        --method tds --target salary-class",
    "tables/adult.parquet -o out.parquet -k 6 --quasi age,sex,education --sensitive occupation
        --l-diversity occupation=3 --hierarchy age=ranges:5,20 --method tds
        --target occupation --target age:number:0.5 --bias sex",
    "tables/agrawal.csv -o out.csv -k 10 --quasi age,salary,elevel --keep class --method tds
        --target class --values mean",
    "tables/visits.csv -o out.csv -k 4 --quasi age,born,code,smoker --subject person --method tds
        --target smoker --hierarchy code=prefix --weight born=3",
    "tables/visits.tsv -o out.tsv -k 3 --quasi age,city,code --sensitive diagnosis
        --t-closeness diagnosis=0.4 --hierarchy age=ranges:10 --hierarchy code=prefix
        --categories set --method tds --target city",
    "tables/voters.csv -o out.csv -k 5 --quasi age,zipcode --method bang",
    "tables/adult.csv -o out.csv -k 4 --quasi age,sex,education,race --sensitive occupation
        --l-diversity occupation=3 --hierarchy age=ranges:5,20 --hierarchy sex=suppress
        --method bang --scale education=quantile --level-column depth",
    "tables/adult.parquet -o out.parquet -k 6 --quasi age,sex,education --method bang
        --no-nesting --scale age=equal:0..100:4",
    "tables/visits.csv -o out.csv -k 4 --quasi age,born,code,smoker --subject person --method bang
        --hierarchy code=prefix --categories set --no-compact",
    "tables/visits.tsv -o out.tsv -k 3 --quasi age,city,code,pay --sensitive diagnosis
        --t-closeness diagnosis=0.4 --hierarchy code=prefix --method bang --no-compact",
    "tables/zones.csv -o out.csv -k 4 --quasi far,share --method bang --scale far=quantile:6
        --values mean",
    "tables/adult.csv -o out.csv -k 4 --quasi age,sex,education,race --sensitive occupation
        --l-diversity occupation=3 --hierarchy age=ranges:5,20 --also-k 12,40
        --granularity dendrogram",
    "tables/visits.tsv -o out.tsv -k 3 --quasi age,city,code,pay --method rtree --no-compact
        --also-k 9,30 --granularity dendrogram-cut",
    "tables/voters.csv -o out.csv -k 5 --quasi age,zipcode --method bd-tree",
    "tables/visits.tsv -o out.tsv -k 3 --quasi age,city,code,pay --sensitive diagnosis
        --t-closeness diagnosis=0.4 --hierarchy code=prefix --method bd-tree --no-compact
        --scale age=quantile",
    "tables/visits.csv -o out.csv -k 4 --quasi age,born,code,smoker --subject person
        --hierarchy code=prefix --categories set --method hb-tree --no-compact",
    "tables/adult.parquet -o out.parquet -k 6 --quasi age,sex,education --sensitive occupation
        --l-diversity occupation=3 --method hb-tree --level-column depth",
    "tables/adult.csv -o out.csv -k 4 --quasi age,sex,education,race --hierarchy age=ranges:5,20
        --method kd-trie",
    "tables/zones.csv -o out.csv -k 4 --quasi far,share --method kd-trie --scale far=quantile:6
        --no-compact",
    "tables/visits.csv -o out.csv -k 4 --quasi age,born,code,smoker --method kd-b-trie
        --hierarchy code=prefix --values mean",
    "tables/voters.csv -o out.csv -k 5 --quasi age,zipcode --method pr-quadtree --no-compact",
    "tables/adult.csv -o out.csv -k 10 --quasi age,sex,education --method grid-file --no-compact
        --scale age=equal:0..100:5",
    "tables/voters.csv -o out.csv -k 5 --quasi age,zipcode --method bang --also-k 12,40",
    "tables/adult.csv -o out.csv -k 4 --quasi age,sex,education,race --sensitive occupation
        --l-diversity occupation=3 --hierarchy age=ranges:5,20 --method bang --also-k 15
        --granularity nested --no-compact",
    "tables/voters.csv -o out.csv -k 5 --quasi age,zipcode --method grid",
    "tables/adult.csv -o out.csv -k 4 --quasi age,sex,education --sensitive occupation
        --l-diversity occupation=2 --hierarchy sex=suppress --method grid
        --scale education=quantile",
    "tables/adult.parquet -o out.parquet -k 6 --quasi age,sex --method grid --no-compact
        --scale age=equal:0..100:4",
    "tables/visits.csv -o out.csv -k 4 --quasi age,born,smoker --subject person --method grid",
    "tables/visits.csv -o out.csv -k 4 --quasi age,born,code,city,smoker --method mondrian
        --hierarchy code=prefix --values features",
    "tables/adult.parquet -o out.parquet -k 6 --quasi age,sex,education --sensitive occupation
        --l-diversity occupation=3 --hierarchy age=ranges:5,20 --values features --no-compact",
    "tables/adult.csv -o out.csv -k 8 --quasi age,sex,race --hierarchy age=ranges:5,10
        --hierarchy sex=suppress --hierarchy race=suppress --method incognito --suppress 0.05
        --values features",
];

/// Above 131,072 rows the top of the tree is grown on a sample.
const SAMPLED: [&str; 6] = [
    "tables/sampled.csv -o out.csv -k 50 --quasi age,zipcode,salary",
    "tables/sampled.csv -o out.csv -k 50 --quasi age,zipcode,salary --method rtree --seed 3",
    "tables/sampled.csv -o out.parquet -k 50 --quasi age,zipcode,salary --split median",
    "tables/sampled.csv -o out.csv -k 20 --quasi age,zipcode --sensitive salary
        --l-diversity salary=distinct:5 --hierarchy zipcode=prefix --threads 1",
    "tables/sampled.csv -o out.csv -k 25 --quasi age,zipcode,salary --also-k 100,1000",
    "tables/sampled.csv -o out.csv -k 30 --quasi age,zipcode,salary --method rtree
        --no-compact --memory 20MB --least-memory 4500KB --threads 2",
];

/// Budgets in which temporary files are needed.
const SPILLING: [&str; 13] = [
    "tables/clinic.csv -o out.csv -k 5 --quasi change,city,code,smoker --memory 400KB
        --least-memory 300KB",
    "tables/clinic.csv -o out.csv -k 5 --quasi change,city,code,smoker --memory 300KB
        --least-memory 300KB --threads 1",
    "tables/clinic.csv -o out.csv -k 5 --quasi change,city,code,smoker --keep note --memory 1MB
        --least-memory 300KB",
    "tables/clinic.tsv -o out.parquet -k 5 --quasi change,city,code --sensitive diagnosis
        --l-diversity diagnosis=distinct:3 --method rtree --memory 650KB
        --least-memory 300KB --spill-dir .",
    "tables/clinic.parquet -o out.csv.gz -k 5 --quasi change,city,code --sensitive diagnosis
        --t-closeness diagnosis=0.3 --method rtree --split median --memory 750KB
        --least-memory 300KB",
    "tables/clinic.csv -o out.csv -k 500 --quasi change,city,code --method rtree --memory 550KB
        --least-memory 300KB",
    "tables/clinic.csv -o out.csv -k 50 --quasi change,city,code --method rtree --split median
        --memory 350KB
        --least-memory 300KB",
    "tables/clinic.csv -o out.csv -k 4 --quasi smoker,city --keep note --memory 300KB
        --least-memory 300KB",
    "tables/clinic.csv -o out.csv -k 5 --quasi change,city,code --subject person
        --also-k 20,200 --memory 1050KB
        --least-memory 300KB",
    "tables/clinic.csv -o out.csv -k 10 --quasi change,city,code --hierarchy change=ranges:10
        --hierarchy city=suppress --hierarchy code=prefix --method incognito --keep note
        --memory 400KB",
    "tables/clinic.csv -o out.csv -k 10 --quasi change,city,code --hierarchy change=ranges:10
        --hierarchy city=suppress --hierarchy code=prefix --method bottom-up --suppress 0.02
        --sensitive diagnosis --t-closeness diagnosis=0.3 --memory 400KB",
    "tables/clinic.csv -o out.csv -k 10 --quasi change,city,code --method attribute-suppression
        --suppress 0.02 --memory 350KB --threads 1",
    "tables/clinic.csv -o out.csv -k 10 --quasi change,city,code --hierarchy change=ranges:10
        --hierarchy city=suppress --hierarchy code=prefix --level change=1,city=0,code=5
        --suppress 0.5 --subject person --memory 400KB",
];

const LATTICES: [&str; 24] = [
    "tables/adult.csv -k 4 --quasi age,sex,race --hierarchy age=tables/adult-trees/age.csv
        --hierarchy sex=suppress --hierarchy race=suppress",
    "tables/adult.csv -k 4 --quasi age,sex,race --hierarchy age=tables/adult-trees/age.csv
        --hierarchy sex=suppress --hierarchy race=suppress --method incognito --variant basic",
    "tables/adult.csv -k 4 --quasi age,sex,race --hierarchy age=tables/adult-trees/age.csv
        --hierarchy sex=suppress --hierarchy race=suppress --variant cube --threads 1",
    "tables/adult.csv -k 4 --quasi age,sex,race --hierarchy age=tables/adult-trees/age.csv
        --hierarchy sex=suppress --hierarchy race=suppress --method bottom-up",
    "tables/adult.csv -k 4 --quasi age,sex,race --hierarchy age=tables/adult-trees/age.csv
        --hierarchy sex=suppress --hierarchy race=suppress --method bottom-up --variant scan",
    "tables/adult.csv -k 4 --quasi age,sex,race --hierarchy age=tables/adult-trees/age.csv
        --hierarchy sex=suppress --hierarchy race=suppress --method samarati",
    "tables/adult.csv -k 4 --quasi age,sex,race --method attribute-suppression --suppress 0.05",
    "tables/adult.csv -k 4 --quasi age,sex,race --hierarchy age=ranges:5,10
        --hierarchy sex=suppress --hierarchy race=suppress --suppress 0.02 --svg lattice.svg",
    "tables/adult.csv -k 4 --quasi age,sex,race --hierarchy age=ranges:5,10
        --hierarchy sex=suppress --hierarchy race=suppress --method samarati --svg lattice.svg",
    "tables/adult.parquet -k 3 --quasi age,sex,education,workclass --sensitive occupation
        --hierarchy age=ranges:5,20 --hierarchy sex=suppress --hierarchy education=prefix
        --hierarchy workclass=suppress --l-diversity occupation=distinct:3 --suppress 0.05
        --sort height",
    "tables/adult.tsv -k 3 --quasi age,sex,workclass --sensitive occupation
        --hierarchy age=ranges:5,20 --hierarchy sex=suppress --hierarchy workclass=suppress
        --t-closeness occupation=0.3 --suppress 0.1 --sort suppressed --threads 2",
    "tables/visits.csv -k 5 --quasi age,code,city --subject person --hierarchy age=ranges:10,50
        --hierarchy code=prefix --hierarchy city=tables/visits-city.csv --missing n/a
        --sort discernibility --suppress 0.1",
    "tables/visits.csv -k 5 --quasi age,code,city --hierarchy age=ranges:10,50
        --hierarchy code=prefix --hierarchy city=tables/visits-city.csv --weight city=5
        --sort weights --suppress 0.1",
    "tables/visits.csv -k 3 --quasi age,smoker --sensitive diagnosis,change
        --hierarchy age=ranges:10,50 --hierarchy smoker=suppress
        --l-diversity diagnosis=recursive:3,2 --variance change=400 --sort precision",
    "tables/visits.csv -k 3 --quasi born,smoker --sensitive diagnosis --hierarchy born=dates
        --hierarchy smoker=suppress --l-diversity diagnosis=entropy:3 --alpha diagnosis=0.6
        --sort classes",
    "tables/customer.csv -k 5 --quasi gender,birth-date,postal-code,income
        --hierarchy gender=suppress --hierarchy birth-date=dates --hierarchy postal-code=prefix
        --hierarchy income=ranges:1000,10000,50000 --suppress 0.05",
    "tables/customer.csv -k 5 --quasi gender,birth-date,postal-code,income
        --hierarchy gender=suppress --hierarchy birth-date=dates --hierarchy postal-code=prefix
        --hierarchy income=ranges:1000,10000,50000 --suppress 0.05 --time 1h --minimize weights",
    "tables/agrawal.csv -k 10 --quasi age,elevel,car,zipcode --hierarchy age=ranges:5,20
        --hierarchy elevel=suppress --hierarchy car=ranges:5 --hierarchy zipcode=suppress",
    "tables/clinic.csv -k 10 --quasi change,city,code --hierarchy change=ranges:10
        --hierarchy city=suppress --hierarchy code=prefix --memory 400KB",
    "tables/clinic.csv -k 10 --quasi change,city,code --hierarchy change=ranges:10
        --hierarchy city=suppress --hierarchy code=prefix --memory 400KB --variant cube",
    "tables/clinic.csv -k 10 --quasi change,city,code --hierarchy change=ranges:10
        --hierarchy city=suppress --hierarchy code=prefix --memory 400KB --method bottom-up
        --variant scan --sensitive diagnosis --l-diversity diagnosis=distinct:4",
    "tables/clinic.parquet -k 10 --quasi change,city,code --hierarchy change=ranges:10
        --hierarchy city=suppress --hierarchy code=prefix --memory 400KB --method samarati
        --subject person --suppress 0.01",
    "tables/odd.parquet -k 3 --quasi word,long --hierarchy word=suppress --hierarchy long=prefix",
    "--job tables/method.toml tables/voters.csv -k 5 --quasi age,zipcode --hierarchy age=ranges:10
        --hierarchy zipcode=prefix --time 1h",
];

const COMPACTIONS: [&str; 14] = [
    "tables/visits.csv tables/decades.csv --key row --quasi age,smoker -o out.csv",
    "tables/visits.parquet tables/decades.csv --key row --quasi age,smoker -o out.parquet -k 3",
    "tables/visits.csv tables/decades.csv --key row --quasi age,smoker -o out.csv.zst --keep row
        --sensitive diagnosis --values bounds --seed 4",
    "tables/visits.csv tables/decades.csv --key row --quasi age,smoker -o out.tsv --weight age=2
        --hierarchy age=ranges:10,50 --threads 1",
    "tables/visits.csv tables/decades.csv --key row --quasi age,smoker -o out.csv --values interval
        --hierarchy age=ranges:10,50 --categories set --sensitive diagnosis
        --l-diversity diagnosis=distinct:2",
    "tables/visits.csv tables/stars.csv --key row --quasi smoker,city -o out.csv",
    "tables/visits.csv tables/stars.csv --key row --quasi smoker,city -o out.csv --missing n/a
        --hierarchy city=tables/visits-city.csv --hierarchy smoker=suppress --keep note,dose",
    "tables/visits.tsv tables/stars.csv --key row --quasi smoker,city -o out.parquet
        --subject person -k 10 --sensitive debt --variance debt=1000",
    "tables/visits.csv tables/stars.csv --key row --quasi smoker,city -o out.csv
        --sensitive diagnosis --t-closeness diagnosis=0.5 --alpha diagnosis=0.9 --threads 2",
    "tables/visits.csv tables/regions.csv --key row --quasi age,born,code -o out.csv",
    "tables/visits.csv.gz tables/regions.csv --key row --quasi age,born,code -o out.csv
        --values bounds --keep seen,change,debt",
    "tables/visits.csv tables/regions.csv --key row --quasi age,born,code -o out.csv
        --hierarchy born=dates --hierarchy code=prefix --type age=decimal -k 5",
    "tables/visits.semicolon.csv tables/regions.csv --key row --quasi age,born,code -o out.parquet
        --hierarchy born=dates --categories label --values interval",
    "tables/visits.csv tables/regions.csv --key row --job tables/roles.toml -o out.csv",
];
