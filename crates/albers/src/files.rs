//! Files, folders and pipes as sources and sinks: the only module here that knows paths.

mod codebook;
mod rehearsal;
mod said;
mod temporary;
mod texts;

use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use albers_storage::StorageError;
use albers_storage::digest;
use albers_storage::output::{OutputFile, Place, Purpose, SealedFile};
use albers_storage::wording;
use albers_storage::wording::Field;
use albers_table::format::Format;
use albers_table::hierarchy::HierarchySpec;
use albers_table::sink::{FileSink, Sink, StreamSink, private_text};
use albers_table::source::{
    FileSource, FilesSource, ReadOptions, Source, StreamSource, Undecided, expand,
};
use rustc_hash::FxHashMap;

use crate::error::{Error, Result};
use crate::finding;
use crate::finding::{Finding, FindingName};
use crate::job::Job;
use crate::report::{ConcernedRows, Manifest, Prepared};

use codebook::{check_no_codebook_for_stream, check_no_codebook_stays};
pub use codebook::{codebook_beside, codebook_of, codebook_paths};
pub use rehearsal::{in_the_way, written};
use said::{of_text_only, with_effect};
pub(crate) use temporary::{check_spill_folder, spill_folder};
pub use texts::text_of;

/// What stands for standard input and output.
const STANDARD: &str = "-";

/// Whether a path stands for standard input or output.
pub fn is_standard(path: &Path) -> bool {
    path.as_os_str() == STANDARD
}

/// Opens the table that a job names: a file, a folder or a pattern of several, or standard input.
pub fn open_input(job: &Job) -> Result<Box<dyn Source>> {
    let input = job.input.as_deref().ok_or_else(|| {
        Error::usage(
            "there is no table to read",
            "name a CSV, JSON Lines or Parquet file or a spreadsheet, or - for a pipe",
        )
    })?;
    of_text_only(job, open_table(job, input, job.from)?)
}

/// Opens a table as a job says how tables are read.
pub fn open_table(job: &Job, path: &Path, from: Option<Format>) -> Result<Box<dyn Source>> {
    with_effect(job, open_source(job, path, from)?)
}

/// Opens a release of the table that a job is about. Releases have names: that the table has none
/// does not concern them, but names that look like values are theirs too.
pub fn open_release(job: &Job, path: &Path) -> Result<Box<dyn Source>> {
    let header = job.header.filter(|&header| header);
    open_source(&Job { header, sheet: None, ..job.clone() }, path, None)
}

/// How a release of this program is read, which is always written in the same way, whatever its
/// table was.
fn of_release(options: ReadOptions) -> ReadOptions {
    ReadOptions {
        encoding: None,
        decimal: None,
        date_formats: Vec::new(),
        is_fixed: true,
        ..options
    }
}

fn open_source(job: &Job, path: &Path, from: Option<Format>) -> Result<Box<dyn Source>> {
    let options = match !is_standard(path) && manifest_path(path).exists() {
        true => of_release(job.read_options()?),
        false => job.read_options()?,
    };
    open_with(job, path, from, options)
}

/// Opens the table of a job to look at it: columns that can be read in two ways are read as names.
pub fn open_to_look(job: &Job, path: &Path) -> Result<Box<dyn Source>> {
    let options = ReadOptions { undecided: Undecided::Names, ..job.read_options()? };
    of_text_only(job, with_effect(job, open_with(job, path, job.from, options)?)?)
}

fn open_with(
    job: &Job,
    path: &Path,
    from: Option<Format>,
    mut options: ReadOptions,
) -> Result<Box<dyn Source>> {
    options.folder = Some(spill_folder(job));
    let options = &options;
    if is_standard(path) {
        let reader = Box::new(std::io::stdin());
        let (name, folder) = ("standard input", spill_folder(job));
        return Ok(match from {
            Some(Format::Parquet) => {
                Box::new(StreamSource::parquet(reader, name, &folder, options)?)
            }
            Some(format @ (Format::JsonLines | Format::Sheet)) => {
                Box::new(StreamSource::put_aside(reader, name, &folder, format, options)?)
            }
            format => {
                Box::new(StreamSource::text_by_way_of(&folder, reader, name, format, options)?)
            }
        });
    }
    let mut paths = expand(path)?;
    if paths != [path] {
        check_parts(&paths)?;
    }
    Ok(match paths.len() {
        1 => Box::new(FileSource::open(&paths.remove(0), from, options)?),
        _ => Box::new(FilesSource::open(paths, from, options)?),
    })
}

/// Refuses files that would make people count twice: the same file by two names, or a release that
/// stands among the tables.
fn check_parts(paths: &[PathBuf]) -> Result<()> {
    let mut seen: FxHashMap<FileId, &Path> = FxHashMap::default();
    for path in paths {
        let beside = [manifest_path(path), codebook_paths(path)[1].clone()];
        if let Some(place) = beside.iter().position(|path| path.exists()) {
            let what = ["manifest", "codebook"][place];
            return Err(Error::usage(
                format!("{} is a release: a {what} stands beside it", path.display()),
                "move releases out of the folder of their tables",
            ));
        }
        let same = file_id(path).and_then(|id| seen.insert(id, path));
        if let Some(same) = same {
            return Err(Error::usage(
                format!("{} and {} are the same file", same.display(), path.display()),
                "leave one of them out: its rows would count twice",
            ));
        }
    }
    Ok(())
}

/// The sinks of all releases of a job, the finest first; none of them replaces an input, another
/// file that is read, or one of the others, and none becomes an input of the next run.
pub fn open_outputs(job: &Job, also_read: &[&Path]) -> Result<Vec<Box<dyn Sink>>> {
    let output = job.output.as_deref().ok_or_else(|| {
        Error::usage("no output file", wording!["give ", Field::Output.of("FILE")])
    })?;
    let mut inputs = files_read(job)?;
    for &path in also_read {
        inputs.extend(if is_standard(path) { Vec::new() } else { expand(path)? });
    }
    if job.manifest.as_deref().is_some_and(is_standard) {
        return Err(Error::usage(
            "the manifest does not go to standard output",
            wording!["give ", Field::Manifest.of("FILE")],
        ));
    }
    if is_standard(output) {
        check_no_codebook_for_stream(job)?;
        let owners = job.owner_report.iter().chain(&job.dendrogram).chain(&job.model);
        let targets: Vec<&PathBuf> = job.manifest.iter().chain(owners).collect();
        check_targets(job, &targets, &inputs)?;
        return standard_output(job);
    }
    if let Some(k) = (1..job.also_k.len()).find(|&at| job.also_k[..at].contains(&job.also_k[at])) {
        return Err(Error::usage(
            format!("k = {} is asked for twice", job.also_k[k]),
            "give each k once",
        ));
    }
    let mut releases = vec![output.to_owned()];
    releases.extend(job.also_k.iter().map(|&k| beside(output, k)));
    let mut manifests: Vec<PathBuf> = releases.iter().map(|path| manifest_path(path)).collect();
    if let Some(manifest) = &job.manifest {
        manifests[0] = manifest.clone();
    }
    let codebooks: Vec<PathBuf> = releases.iter().flat_map(|path| codebook_paths(path)).collect();
    let has_codebooks = job.codebook != Some(false);
    let written = codebooks.iter().filter(|_| has_codebooks);
    let owners = job.owner_report.iter().chain(&job.dendrogram).chain(&job.model);
    let published = releases.iter().chain(written).chain(&manifests);
    let targets: Vec<&PathBuf> = published.chain(owners).collect();
    check_targets(job, &targets, &inputs)?;
    if !has_codebooks {
        check_no_codebook_stays(&codebooks)?;
    }
    check_beside_parts(job, &releases)?;
    check_findings(job, &model_findings(job))?;
    let sinks = releases.iter().zip(manifests).map(|(path, manifest)| {
        let texts = if has_codebooks { codebook_paths(path).to_vec() } else { Vec::new() };
        let sink = FileSink::new(path, job.to, Some(manifest))?.with_texts(&texts);
        let sink = if job.force == Some(true) { sink } else { sink.only_new() };
        Ok(Box::new(sink.with_purpose(job.purpose())) as Box<dyn Sink>)
    });
    sinks.collect()
}

/// Where rows for learning go: a file that only its owner may read, which has no manifest and never
/// takes the place of a release that has one.
pub(crate) fn open_private_output(job: &Job, model: &Path) -> Result<Box<dyn Sink>> {
    let output = job.output.as_deref().ok_or_else(|| {
        Error::usage("no output file", wording!["give ", Field::Output.of("FILE")])
    })?;
    if is_standard(output) {
        return Ok(standard_output(job)?.remove(0));
    }
    let [_, codebook] = codebook_paths(output);
    let beside = [(manifest_path(output), "a manifest"), (codebook, "a codebook")];
    if let Some((path, what)) = beside.iter().find(|(path, _)| path.exists()) {
        return Err(Error::usage(
            format!(
                "{} stands beside {}: what is written for learning is no release, and would be \
                 taken for one",
                path.display(),
                output.display()
            ),
            format!("name a file without {what}"),
        ));
    }
    let mut inputs = files_read(job)?;
    inputs.push(model.to_owned());
    check_targets(job, &[&output.to_owned()], &inputs)?;
    check_beside_parts(job, &[output.to_owned()])?;
    let sink = FileSink::new(output, job.to, None)?.private().with_purpose(job.purpose());
    Ok(Box::new(if job.force == Some(true) { sink } else { sink.only_new() }))
}

/// Refuses outputs that cannot be written, two of one name, and ones that are there already unless
/// the job says that they may be replaced.
pub fn check_targets(job: &Job, targets: &[&PathBuf], inputs: &[PathBuf]) -> Result<()> {
    for (place, target) in targets.iter().enumerate() {
        check_place(target, inputs)?;
        if targets[..place].iter().any(|earlier| is_same_place(earlier, target)) {
            return Err(Error::usage(
                format!("{} would be written twice", target.display()),
                "give every release, every codebook, every manifest and every report a name of its own",
            ));
        }
    }
    // A link that leads nowhere is there too.
    let there = targets.iter().find(|target| target.symlink_metadata().is_ok());
    match there.filter(|_| job.force != Some(true) && !job.dry_run) {
        None => Ok(()),
        Some(target) => Err(Error::usage(
            format!("{} is there already", target.display()),
            wording!["replace it and what belongs to it with ", Field::Force, ", or name another"],
        )),
    }
}

/// A place that an output of a job takes: it must be free unless the job says that files may be
/// replaced.
pub(crate) fn place(job: &Job, path: &Path) -> Place {
    if job.force == Some(true) { Place::look(path) } else { Place::free(path) }
}

/// Releases that appear together with what only their owner may read, where the job asks for it: a
/// report, and a drawing.
pub fn with_owner_files(job: &Job, mut prepared: Prepared) -> Result<Prepared> {
    prepared.report.dry_run = job.dry_run;
    if let Some(path) = &job.owner_report {
        let report = private_text(job.purpose(), &place(job, path), &prepared.report.text())?;
        prepared.add(report);
    }
    if let (Some(path), Some(drawing)) = (&job.dendrogram, prepared.drawing.take()) {
        prepared.add(private_text(job.purpose(), &place(job, path), &drawing)?);
    }
    Ok(prepared)
}

/// Refuses a job with findings that it does not accept, before anything is read.
pub(crate) fn check_findings(job: &Job, found: &[Finding]) -> Result<()> {
    let findings = finding::not_accepted(found, &job.accept);
    if findings.is_empty() { Ok(()) } else { Err(Error::Severe { findings }) }
}

/// Whether a job's recoding function would lie in a folder with what it publishes, by whatever name
/// the folder is called.
pub(crate) fn model_findings(job: &Job) -> Vec<Finding> {
    job.model.as_deref().map_or_else(Vec::new, |model| findings_beside(job, model))
}

/// Whether a recoding function lies in a folder with what a job publishes.
pub(crate) fn findings_beside(job: &Job, model: &Path) -> Vec<Finding> {
    let Some(output) = &job.output else { return Vec::new() };
    let release = Some(output).filter(|path| !is_standard(path));
    let published: Vec<&PathBuf> = release.into_iter().chain(&job.manifest).collect();
    let folder = folder_of(model);
    let is_beside = published.iter().any(|path| folder_of(path) == folder);
    is_beside.then(model_beside_release).into_iter().collect()
}

/// A recoding function that would lie in a folder of its release.
fn model_beside_release() -> Finding {
    Finding {
        name: FindingName::ModelBesideRelease,
        column: None,
        count: 1,
        is_about: false,
        is_severe: true,
        sentence: wording![
            "the recoding function would lie in the folder of the release, or of its manifest: it \
             holds the values of the quasi-identifiers and where classes are cut, and a folder is \
             easily published as a whole; name another folder with ",
            Field::Model,
            " or ",
            Field::Output
        ],
    }
}

/// Refuses releases in a folder of tables: the next run would take them for tables.
fn check_beside_parts(job: &Job, releases: &[PathBuf]) -> Result<()> {
    let input = job.input.as_deref().filter(|input| !is_standard(input));
    let Some(input) = input else { return Ok(()) };
    let parts = expand(input)?;
    if parts == [input] {
        return Ok(());
    }
    for release in releases {
        let is_beside = |part: &PathBuf| folder_of(part) == folder_of(release);
        if parts.iter().any(is_beside) {
            return Err(Error::usage(
                format!(
                    "{} would stand among the tables of {}, and be read with them the next time",
                    release.display(),
                    input.display()
                ),
                "write it to another folder",
            ));
        }
    }
    Ok(())
}

fn standard_output(job: &Job) -> Result<Vec<Box<dyn Sink>>> {
    if !job.also_k.is_empty() {
        return Err(Error::usage(
            "several releases do not fit in one stream",
            wording!["name a file with ", Field::Output, ", or drop ", Field::AlsoK],
        ));
    }
    let (name, folder) = ("standard output", spill_folder(job));
    let format = job.to.unwrap_or(Format::Csv).check_written(name)?;
    let output = Box::new(std::io::stdout());
    let sink = StreamSink::new(output, name, format, &folder, job.manifest.clone());
    let sink = if job.force == Some(true) { sink } else { sink.only_new() };
    Ok(vec![Box::new(sink.with_purpose(job.purpose()))])
}

/// Where the manifest of a release stands, unless the job says otherwise.
fn manifest_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".manifest.json");
    PathBuf::from(name)
}

/// The manifest that stands beside a table, if there is one.
pub fn manifest_beside(table: &Path) -> Option<PathBuf> {
    Some(manifest_path(table)).filter(|path| !is_standard(table) && path.is_file())
}

/// The manifest of a table: the one that is named, or the one beside it, if there is any.
pub fn manifest_of(job: &Job, table: &Path, named: Option<&Path>) -> Result<Option<Manifest>> {
    let Some(path) = named.map(Path::to_owned).or_else(|| manifest_beside(table)) else {
        return Ok(None);
    };
    let text = text_of(job, &path, "the manifest")?;
    let manifest = serde_json::from_str(&text).map_err(|error| {
        Error::usage(
            format!(
                "{} is no manifest of this program: line {}, column {}",
                path.display(),
                error.line(),
                error.column()
            ),
            wording![
                "it is damaged, or of another version; name the right one with ",
                Field::Manifest
            ],
        )
    })?;
    Ok(Some(manifest))
}

/// Refuses a release whose bytes are not those that stand beside it in a digest.
pub fn check_digest(release: &Path, digest: Option<&str>, beside: &str) -> Result<()> {
    let Some(digest) = digest.filter(|_| !is_standard(release)) else { return Ok(()) };
    match digest_of(release)? == digest {
        true => Ok(()),
        false => Err(Error::usage(
            format!(
                "{} is not the file that its {beside} tells of: its bytes differ",
                release.display()
            ),
            "it was changed after it was released; ask for the release itself, or move what stands \
             beside it away and say what its columns are",
        )),
    }
}

/// The SHA-256 of the bytes of a file.
pub fn digest_of(path: &Path) -> Result<String> {
    let read = std::fs::File::open(path).and_then(digest::digest_of);
    Ok(read.map_err(|source| StorageError::Read { path: path.to_owned(), source })?)
}

/// `NAME.k10.EXT` beside `NAME.EXT`.
fn beside(output: &Path, k: u64) -> PathBuf {
    let name = output.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let last = |name: &str| name.rfind('.').unwrap_or(name.len());
    let n_stem = match last(name) {
        at if [".gz", ".zst", ".zstd"].contains(&&name[at..]) => {
            let inner = last(&name[..at]);
            let is_format = Format::of(Path::new(&name[..at])).is_some();
            if is_format { inner } else { at }
        }
        at => at,
    };
    let (stem, ending) = name.split_at(n_stem);
    output.with_file_name(format!("{stem}.k{k}{ending}"))
}

/// Writes a text file that appears as a whole; it may not replace what the job reads.
pub fn write_text(job: &Job, path: &Path, text: &str) -> Result<()> {
    check_output_place(job, path)?;
    let mut file = OutputFile::create(path)?;
    let written = file.write_all(text.as_bytes());
    written.map_err(|source| file.write_error(source))?;
    Ok(file.finish()?)
}

/// Refuses a place where the numbers of rows cannot be written: one that is there already, unless the
/// job says that it may be replaced, or that is read.
pub fn check_rows_place(job: &Job, path: &Path, also_read: &[&Path]) -> Result<Place> {
    let mut inputs = files_read(job)?;
    for &read in also_read {
        inputs.extend(if is_standard(read) { Vec::new() } else { expand(read)? });
    }
    check_targets(job, &[&path.to_owned()], &inputs)?;
    Ok(place(job, path))
}

/// Refuses an original that is the release itself, which would tell that nothing is wrong.
pub fn check_original(release: &Path, original: &Path) -> Result<()> {
    let files = |path: &Path| if is_standard(path) { Ok(Vec::new()) } else { expand(path) };
    let (release, originals) = (files(release)?, files(original)?);
    let is_release = |own: &PathBuf| release.iter().any(|release| is_same_place(release, own));
    match originals.iter().any(is_release) {
        false => Ok(()),
        true => Err(Error::usage(
            format!("the original {} is the release itself", original.display()),
            "name the table that the release was made of",
        )),
    }
}

/// The numbers of the rows that findings are about, as a CSV file that only its owner may read; it
/// appears when it is named.
pub fn rows_file(place: Place, concerned: &[ConcernedRows]) -> Result<SealedFile> {
    let mut file = BufWriter::new(OutputFile::create_for(Purpose::Appear, place)?);
    let mut write = || -> std::io::Result<()> {
        file.write_all(b"finding,row\n")?;
        for ConcernedRows { finding, rows } in concerned {
            // The name of a column may hold anything.
            let is_plain = !finding.contains([',', '"', '\n', '\r']);
            let quoted = || format!("\"{}\"", finding.replace('"', "\"\""));
            let finding = if is_plain { finding.clone() } else { quoted() };
            rows.iter().try_for_each(|row| writeln!(file, "{finding},{row}"))?;
        }
        file.flush()
    };
    let written = write();
    let (file, _) = file.into_parts();
    written.map_err(|source| file.write_error(source))?;
    Ok(file.seal_private()?)
}

/// Refuses a place where no output can be written, before any work is done for it.
pub fn check_output_place(job: &Job, path: &Path) -> Result<()> {
    check_place(path, &files_read(job)?)?;
    match path.is_symlink() && job.force != Some(true) {
        false => Ok(()),
        true => Err(Error::usage(
            format!("{} is a link, which a file would replace", path.display()),
            "name the file that it leads to, or another",
        )),
    }
}

/// All files that a job reads, which none of its outputs may replace.
fn files_read(job: &Job) -> Result<Vec<PathBuf>> {
    let mut read = Vec::new();
    match job.input.as_deref() {
        // Where a file is redirected to standard input, this leads to it.
        Some(input) if is_standard(input) => read.push(PathBuf::from("/dev/stdin")),
        Some(input) => read.extend(expand(input)?),
        None => {}
    }
    read.extend(job.file.clone());
    for column in job.columns.values() {
        if let Some(HierarchySpec::File(file)) = &column.hierarchy {
            read.push(file.clone());
        }
    }
    Ok(read)
}

/// Refuses an output that is a folder, that lies in no folder, or that is one of the inputs.
fn check_place(output: &Path, inputs: &[PathBuf]) -> Result<()> {
    if output.is_dir() {
        return Err(StorageError::IsFolder { path: output.to_owned() }.into());
    }
    if is_standard(output) {
        return Err(Error::usage("only a release goes to standard output", "name a file"));
    }
    if output.exists() && !output.is_file() {
        return Err(Error::usage(
            format!("{} is a pipe or a device, which a file would replace", output.display()),
            "name a file, or write to standard output with -",
        ));
    }
    let folder = match output.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    if !folder.is_dir() {
        return Err(Error::usage(
            format!("cannot write {}: there is no folder {}", output.display(), folder.display()),
            "create the folder, or name another",
        ));
    }
    for input in inputs {
        if is_same_file(output, input) {
            return Err(Error::usage(
                format!("the output {} is also an input", output.display()),
                "give the output a name of its own",
            ));
        }
    }
    Ok(())
}

/// The folder of a file, whatever it is called.
fn folder_of(path: &Path) -> Option<PathBuf> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new(".")).canonicalize().ok()
}

/// Whether two names, of files that need not be there yet, mean the same place.
fn is_same_place(a: &Path, b: &Path) -> bool {
    (folder_of(a), a.file_name()) == (folder_of(b), b.file_name()) || is_same_file(a, b)
}

/// What tells a file apart from all others, by whatever name it is called.
type FileId = (u64, u64, PathBuf);

#[cfg(unix)]
fn file_id(path: &Path) -> Option<FileId> {
    use std::os::unix::fs::MetadataExt;
    let metadata = path.metadata().ok()?;
    Some((metadata.dev(), metadata.ino(), PathBuf::new()))
}

#[cfg(not(unix))]
fn file_id(path: &Path) -> Option<FileId> {
    Some((0, 0, path.canonicalize().ok()?))
}

fn is_same_file(a: &Path, b: &Path) -> bool {
    file_id(a).is_some_and(|a| file_id(b) == Some(a))
}
