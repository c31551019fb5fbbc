//! Every field of a job file, with a word on each.

/// Where an example of a job file is needed: every field, with a word on each.
pub const JOB_FILE_FIELDS: &str = r#"A job file with all its fields:

  input = "people.csv"            # relative to the job file
  output = "people.anonymized.csv"
  from = "csv"                    # csv, tsv, jsonl, parquet, sheet: told by the ending when not given
  to = "csv"                      # the same for the release
  manifest = "people.json"        # beside the release when not given
  codebook = true                 # false: nothing beside the release tells how it is read
  owner-report = "people.mine.json"  # figures of the table, not for publication; for its owner alone
  accept = ["unique-keep:note"]   # severe findings that do not stop the release
  force = false                   # true: a release that is there already is replaced
  k = 5                           # rows (or subjects) per class, at least
  method = "auto"                 # how classes are found: auto, mondrian, rtree, incognito, samarati,
                                  # bottom-up, attribute-suppression, subtree, ordered-set, tds,
                                  # local, bang; to compare with it: bd-tree, hb-tree, kd-trie,
                                  # kd-b-trie, pr-quadtree, grid-file
  effort = "balanced"             # of auto: fast, balanced, best: how much is tried to lose less
  disjoint = false                # of auto: true: no two classes overlap
  variant = "super-roots"         # of incognito: basic, super-roots, cube; of bottom-up: rollup, scan
  minimize = "ncp"                # the best full-domain release: ncp, height, discernibility, weights;
                                  # what cuts are chosen by: ncp, discernibility
  suppress = 0.02                 # the share of the rows that may be left out
  time = "30s"                    # what a search may take; all it needs when not given
  split = "compact"               # how cuts are chosen: compact, median, info-gain, regression
  then = "compact"                # the same where targets have no say: compact, median
  categories = "label"            # columns with a hierarchy as label or set
  values = "interval"             # intervals as interval or bounds
  compact = true                  # false: regions instead of bounds of the rows
  nesting = true                  # of bang: false: classes side by side, none within another
  level-column = "level"          # of bang, bd-tree, hb-tree: the column that tells how deep a class lies in others
  also-k = [10, 100]              # coarser releases of the same index
  granularity = "cut"             # how its leaves are brought together: cut, leaf-scan, hierarchical,
                                  # dendrogram, dendrogram-cut
  fan-out = 4                     # of hierarchical: the most children of a node
  dendrogram = "tree.svg"         # how they were merged, drawn for their owner alone
  memory = "256MB"                # a quarter of the machine's when not given
  spill-dir = "/var/tmp"          # for temporary files; beside the release when not given
  seed = 0                        # decides the order of classes and rows
  threads = 2                     # all cores when not given
  delimiter = ","                 # told from the header when not given
  header = true                   # false: no line of names, columns are c1, c2; told when not given
  sheet = "Patients"              # of a workbook; the only one that holds anything when not given
  missing = ["99", "age=0"]       # besides the empty cell; the second of the column age
  encoding = "windows-1252"       # how letters are stored; told from the bytes when not given
  decimal = "comma"               # or point: the decimal mark; told from all rows when not given

  [workload]
  targets = ["buys", "income:number:2"]  # what classes should tell, with info-gain, regression, tds
  features = ["visits"]           # kept columns that will be known beside the quasi-identifiers

  [columns.zip]
  role = "quasi"                  # quasi, sensitive, identifier, keep, subject
  type = "code"                   # integer, decimal, float, date, timestamp, boolean, text, code
  hierarchy = "prefix"            # FILE, prefix, ranges:5,10,20, dates, dates:month,year, suppress
  finest = "3-characters"         # nothing finer is shown: a level, or year of dates
  missing = ["00000"]             # in this column
  weight = 2.0                    # how much a loss on it counts
  level = 2                       # where a full-domain release shows it
  bias = true                     # cut before all others
  scale = "equal"                 # of bang and what halves like it: equal:LO..HI:BITS, quantile:BITS, hierarchy, FILE

  [columns."date of birth"]
  role = "quasi"
  date-format = "%d.%m.%Y"        # told from all rows when not given

  [columns."main diagnosis"]
  role = "sensitive"
  l-diversity = "distinct:3"      # or entropy:3, recursive:2,3
  t-closeness = 0.3
  alpha = 0.5
  # variance = 10.0               # numbers only
"#;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Job;

    #[test]
    fn the_example_of_a_job_file_can_be_read() {
        let (_, text) = JOB_FILE_FIELDS.split_once('\n').unwrap();
        let job: Job = toml::from_str(text).unwrap();
        assert_eq!(job.columns.len(), 3);
    }
}
