#!/usr/bin/env python3
"""Flips bytes of every kind of file that the program reads, and counts what comes of it.

    cargo build --release && bench/flips.py [--program target/release/albers] [--masks 01,80,ff] [--every 1]

Each run must end with exit code 0, 1 or 2, without a panic, within a minute, and no message may show a
cell. A flip that makes another valid file (another digit in a text) is read: only files with checksums
can tell, and an index, whose files have them, must be refused or publish what it did. Of large files some
thousand bytes are flipped. Prints a table for docs/results/faults.md, and ends with 1 if any run did not
end as it must.
"""

import argparse
import collections
import concurrent.futures
import gzip
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import zipfile

CITIES = ["Xanthen", "Ystadt", "Zwollen", "Qualburg"]
ILLS = ["quinsies", "dropsies", "agues"]
MOST_PLACES = 3000
BLOCK_BYTES = 4096
ROLES = "--quasi age,zip,city --sensitive ill -k 3 --accept secret-without-rule,model-beside-release"


def write_inputs(folder):
    """A small table in every format, and the files that belong to it."""
    random.seed(7)
    rows = [
        (20 + random.randrange(50), 10_000 + random.randrange(30), random.choice(CITIES), random.choice(ILLS))
        for _ in range(60)
    ]
    text = "age,zip,city,ill\n" + "".join(f"{a},{z},{c},{i}\n" for a, z, c, i in rows)
    (folder / "t.csv").write_text(text)
    keyed = (f"p{n},{a},{z},{c},{i}\n" for n, (a, z, c, i) in enumerate(rows))
    (folder / "keyed.csv").write_text("id,age,zip,city,ill\n" + "".join(keyed))
    (folder / "t.csv.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    lines = (f'{{"age":{a},"zip":{z},"city":"{c}","ill":"{i}"}}\n' for a, z, c, i in rows)
    (folder / "t.jsonl").write_text("".join(lines))
    (folder / "h.csv").write_text("".join(f"{c};{c[0]};*\n" for c in CITIES))
    (folder / "job.toml").write_text(
        'input = "t.csv"\noutput = "out.csv"\nk = 3\nforce = true\n'
        'accept = ["secret-without-rule"]\n\n[columns.age]\nrole = "quasi"\n\n'
        '[columns.city]\nrole = "quasi"\nhierarchy = "h.csv"\n\n[columns.ill]\nrole = "sensitive"\n'
    )
    write_ods(folder / "t.ods", rows)
    write_xlsx(folder / "t.xlsx", rows)


def write_xlsx(path, rows):
    cell = lambda v: f"<c><v>{v}</v></c>" if isinstance(v, int) else f'<c t="inlineStr"><is><t>{v}</t></is></c>'
    table = [("age", "zip", "city", "ill"), *rows]
    sheet = "".join("<row>" + "".join(map(cell, row)) + "</row>" for row in table)
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    rel = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    pack = "http://schemas.openxmlformats.org/package/2006"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr("[Content_Types].xml", f'<Types xmlns="{pack}/content-types"><Default Extension="xml" ContentType="application/xml"/></Types>')
        book.writestr("_rels/.rels", f'<Relationships xmlns="{pack}/relationships"><Relationship Id="r1" Type="{rel}/officeDocument" Target="xl/workbook.xml"/></Relationships>')
        book.writestr("xl/workbook.xml", f'<workbook xmlns="{main}" xmlns:r="{rel}"><sheets><sheet name="people" sheetId="1" r:id="r1"/></sheets></workbook>')
        book.writestr("xl/_rels/workbook.xml.rels", f'<Relationships xmlns="{pack}/relationships"><Relationship Id="r1" Type="{rel}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>')
        book.writestr("xl/worksheets/sheet1.xml", f'<worksheet xmlns="{main}"><sheetData>{sheet}</sheetData></worksheet>')


def write_ods(path, rows):
    def cell(v):
        if isinstance(v, int):
            return f'<table:table-cell office:value-type="float" office:value="{v}"/>'
        return f'<table:table-cell office:value-type="string"><text:p>{v}</text:p></table:table-cell>'

    table = [("age", "zip", "city", "ill"), *rows]
    body = "".join("<table:table-row>" + "".join(map(cell, row)) + "</table:table-row>" for row in table)
    ns = "urn:oasis:names:tc:opendocument:xmlns"
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-content xmlns:office="{ns}:office:1.0" xmlns:table="{ns}:table:1.0" '
        f'xmlns:text="{ns}:text:1.0"><office:body><office:spreadsheet><table:table table:name="people">{body}'
        "</table:table></office:spreadsheet></office:body></office:document-content>"
    )
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    with zipfile.ZipFile(path, "w") as book:
        book.writestr("mimetype", kind)
        book.writestr("META-INF/manifest.xml", f'<manifest:manifest xmlns:manifest="{ns}:manifest:1.0"/>', zipfile.ZIP_DEFLATED)
        book.writestr("content.xml", content, zipfile.ZIP_DEFLATED)


def runs(program, folder, arguments):
    done = subprocess.run([program, *arguments.split()], cwd=folder, capture_output=True, text=True, errors="replace", timeout=60)
    return done.returncode, done.stderr


def outcome(program, folder, arguments):
    try:
        code, said = runs(program, folder, arguments)
    except subprocess.TimeoutExpired:
        return "HANGS", ""
    if code not in (0, 1, 2) or "panicked" in said:
        return f"CODE {code}", said
    if any(cell in said for cell in CITIES + ILLS):
        return "SHOWS A CELL", said
    return {0: "read", 1: "read, stopped by a finding", 2: "refused"}[code], said


def places(whole, every):
    """The bytes to flip: all in blocks that hold anything, or some thousand of them where there are more."""
    blocks = range(0, len(whole), BLOCK_BYTES)
    used = [start for start in blocks if any(whole[start : start + BLOCK_BYTES])]
    found = [at for start in used for at in range(start, min(start + BLOCK_BYTES, len(whole)))]
    # What stands in a row in a file has an even length: an odd step comes to every place in it.
    return found[:: max(every, len(found) // MOST_PLACES | 1)]


def flip_all(program, base, name, arguments, masks, every):
    """Every byte of a file with every mask, in a folder of its own."""
    counted, wrong = collections.Counter(), []
    with tempfile.TemporaryDirectory() as own:
        folder = pathlib.Path(own)
        shutil.copytree(base, folder, dirs_exist_ok=True)
        whole = (base / name).read_bytes()
        of_index = name.startswith("index/")
        code, said = runs(program, folder, arguments)
        if code not in (0, 1):
            sys.exit(f"{arguments}: {said}")
        published = (folder / "out.csv").read_bytes() if of_index else None
        for at in places(whole, every):
            for mask in masks:
                if of_index:
                    # A release is remembered in the index, which is to be as it was before.
                    shutil.copytree(base / "index", folder / "index", dirs_exist_ok=True)
                damaged = bytearray(whole)
                damaged[at] ^= mask
                (folder / name).write_bytes(damaged)
                kind, said = outcome(program, folder, arguments)
                if of_index and kind == "read" and (folder / "out.csv").read_bytes() != published:
                    kind = "PUBLISHES ANOTHER"
                counted[kind] += 1
                if kind.isupper() or kind.startswith("CODE"):
                    wrong.append(f"{name} byte {at} ^ {mask:02x}: {kind}: {said[:300]}")
    return name, arguments, len(whole), counted, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="target/release/albers")
    parser.add_argument("--masks", default="01,80,ff")
    parser.add_argument("--every", type=int, default=1)
    options = parser.parse_args()
    program = os.path.abspath(options.program)
    masks = [int(mask, 16) for mask in options.masks.split(",")]
    with tempfile.TemporaryDirectory() as own:
        base = pathlib.Path(own)
        write_inputs(base)
        for arguments in (
            f"anonymize t.csv -o r.csv --model m.bin --hierarchy city=h.csv {ROLES}",
            f"anonymize t.csv -o t.parquet --quasi age --keep zip,city,ill -k 2 --accept unique-keep,unique-keeps",
            f"anonymize t.csv -o t.csv.zst --quasi age --keep zip,city,ill -k 2 --accept unique-keep,unique-keeps",
            f"index create index keyed.csv --key id {ROLES}",
        ):
            code, said = runs(program, base, arguments)
            if code != 0:
                sys.exit(f"{arguments}: {said}")
        anonymize = f"-o out.csv --force {ROLES}"
        kept = "-o out.csv --force --quasi zip,city -k 3"
        jobs = [
            ("t.csv", f"anonymize t.csv {anonymize}"),
            ("t.csv.gz", f"anonymize t.csv.gz {anonymize}"),
            ("t.csv.zst", f"anonymize t.csv.zst {kept}"),
            ("t.jsonl", f"anonymize t.jsonl {anonymize}"),
            ("t.xlsx", f"anonymize t.xlsx {anonymize}"),
            ("t.ods", f"anonymize t.ods {anonymize}"),
            ("t.parquet", f"anonymize t.parquet {kept}"),
            ("t.parquet", "check t.parquet --quasi zip,city --accept low-k"),
            ("h.csv", f"anonymize t.csv --hierarchy city=h.csv {anonymize}"),
            ("job.toml", "anonymize --job job.toml"),
            ("m.bin", "recode m.bin t.csv -o again.csv --force"),
            ("r.csv.manifest.json", "query r.csv age<50"),
            ("r.csv.codebook.json", "query r.csv age<50"),
            ("r.csv", "check r.csv --original t.csv"),
            ("index/catalogue.redb", "index release index -o out.csv --force"),
            ("index/pages.1", "index release index -o out.csv --force"),
        ]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            found = [pool.submit(flip_all, program, base, *job, masks, options.every) for job in jobs]
            found = [own.result() for own in found]
    kinds = ["refused", "read", "read, stopped by a finding"]
    print(f"| file | command | bytes | flips | {' | '.join(kinds)} | anything else |")
    print("|---|---|---:|---:" + "|---:" * (len(kinds) + 1) + "|")
    total, wrong = 0, []
    for name, arguments, n_bytes, counted, own in found:
        n_flips = sum(counted.values())
        cells = " | ".join(f"{counted[kind]:,}" for kind in kinds)
        print(f"| `{name}` | `{arguments.split()[0]}` | {n_bytes:,} | {n_flips:,} | {cells} | {len(own)} |")
        total += n_flips
        wrong += own
    print(f"\n{total:,} flips, {len(wrong)} that did not end as they must")
    print("\n".join(wrong[:20]), file=sys.stderr)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
