"""The tables of bench/memory_matrix.py, made to take much memory: by name, what makes each."""

import gzip
import os
import struct
import zipfile


def lines(path, header, rows, opened=open):
    with opened(path, "wt") as file:
        file.write(header + "\n")
        for row in rows:
            file.write(row + "\n")


def name(i):
    return f"name-{i * 7919 % 1000003:07d}-of-a-person"


def parquet(path, columns, **options):
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrays = {}
    for key, values in columns.items():
        arrays[key] = values if isinstance(values, (pa.Array, pa.ChunkedArray)) else pa.array(values)
    pq.write_table(pa.table(arrays), path, **{"compression": "zstd", **options})


def repeated(texts, n_rows):
    """A dictionary of few long texts, without ever holding a text for each row."""
    import pyarrow as pa

    indices = pa.array([i % len(texts) for i in range(n_rows)], pa.int32())
    return pa.DictionaryArray.from_arrays(indices, pa.array(texts))


def ages(n_rows):
    return [i % 80 for i in range(n_rows)]


def long_parquet(path):
    parquet(path, {"age": ages(200_000), "text": repeated(["x" * 5_000], 200_000)})


def longer_parquet(path):
    parquet(path, {"age": ages(60_000), "text": repeated([c * 60_000 for c in "abcdefgh"], 60_000)})


def names_parquet(path):
    parquet(path, {"age": ages(300_000), "text": [name(i) for i in range(300_000)]}, use_dictionary=False)


def one_group_parquet(path):
    rows = range(400_000)
    parquet(path, {"age": ages(400_000), "text": [name(i) * 4 for i in rows]}, row_group_size=400_000)


def mixed_parquet(path):
    """Short texts first, long ones at the end: what the first rows tell is not what comes."""
    texts = ["short"] * 100_000 + ["y" * 20_000 + str(i % 7) for i in range(20_000)]
    parquet(path, {"age": ages(120_000), "text": texts}, row_group_size=60_000)


def huge_cells_parquet(path):
    texts = [c * 40_000_000 for c in "abc"] + ["short"] * 50
    parquet(path, {"age": ages(53), "text": texts}, use_dictionary=False)


def delta_parquet(path):
    """Texts that share all with those before them: pages of some KB."""
    import pyarrow as pa

    parquet(path, {"age": ages(20_000), "text": pa.repeat(pa.scalar("x" * 20_000), 20_000)}, use_dictionary=False,
            column_encoding={"text": "DELTA_BYTE_ARRAY", "age": "PLAIN"}, row_group_size=20_000, write_batch_size=1024)


def uneven_parquet(path):
    """Long texts first, and many empty ones behind them in the same row group."""
    import pyarrow as pa

    long = pa.array([f"{i:07d}" + "x" * 50_000 for i in range(4_000)])
    texts = pa.concat_arrays([long, pa.repeat(pa.scalar(""), 1_000_000)])
    parquet(path, {"age": ages(1_004_000), "text": texts}, use_dictionary=False, row_group_size=1_004_000,
            write_batch_size=16, data_page_size=1 << 20)


def footer_parquet(path):
    """A footer that takes more than all rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    one = pa.table({name: pa.array([1]) for name in ["age", "text", *(f"c{c}" for c in range(59))]})
    with pq.ParquetWriter(path, one.schema, compression="none", use_dictionary=False, write_statistics=False) as writer:
        for _ in range(6_000):
            writer.write_table(one)


def wide_parquet(path):
    columns = {"age": ages(4_000), "text": [f"t{i % 50}" for i in range(4_000)]}
    parquet(path, columns | {f"c{c}": [(i * c) % 97 for i in range(4_000)] for c in range(600)})


def many_groups_parquet(path):
    rows = range(30_000)
    parquet(path, {"age": ages(30_000), "text": [f"t{i % 50}" for i in rows]}, row_group_size=10)


def lists_parquet(path):
    import pyarrow as pa

    lists = pa.array([[i % 9] * 200 for i in range(60_000)], pa.list_(pa.int64()))
    parquet(path, {"age": ages(60_000), "text": lists})


def lying_parquet(path):
    """A page that says of itself that it has nearly 2 GB."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"age": ages(1_000), "text": ["z" * 300 + str(i) for i in range(1_000)]})
    pq.write_table(table, path, compression="gzip", use_dictionary=False, write_statistics=False)
    meta = pq.ParquetFile(path).metadata.row_group(0).column(1)
    data = bytearray(open(path, "rb").read())
    at = meta.data_page_offset
    # Field 2 of the header, uncompressed_page_size, a zigzag varint behind the type of the page.
    assert data[at] == 0x15 and data[at + 2] == 0x15
    end = at + 3
    while data[end] & 0x80:
        end += 1
    length = end + 1 - (at + 3)
    most = (1 << (7 * length - 1)) - 1
    size, out = most << 1, []
    for i in range(length):
        out.append((size >> (7 * i)) & 0x7F | (0x80 if i + 1 < length else 0))
    data[at + 3:end + 1] = bytes(out)
    open(path, "wb").write(data)


def zeros_parquet(path):
    """Pages of some hundred MB that are a few KB when compressed."""
    texts = ["0" * 1_000_000] * 300
    parquet(path, {"age": ages(300), "text": texts}, use_dictionary=False, data_page_size=1 << 30)


def names_csv(path):
    lines(path, "age,text", (f"{i % 90},{name(i)}" for i in range(300_000)))


def million_csv(path):
    lines(path, "age,text", (f"{i % 90},{i:07d}" + "abc"[i % 3] for i in range(1_000_000)))


def persons_csv(path):
    lines(path, "age,text", (f"{i % 90},p{i // 3}" for i in range(900_000)))


def short_csv(path):
    lines(path, "age,text", (f"{i % 97},{i * 31 % 7}" for i in range(2_000_000)))


def wide_text_csv(path):
    filler = "lorem ipsum " * 80
    lines(path, "age,text", (f"{i % 90},{i} {filler}" for i in range(60_000)))


def long_cells_csv(path):
    lines(path, "age,text", (f"{i % 9},{'abcdefghij'[i % 10] * 2_000_000}" for i in range(40)))


def one_cell_csv(path):
    with open(path, "w") as file:
        file.write("age,text\n1,")
        for _ in range(200):
            file.write("x" * 1_000_000)
        file.write("\n" + "2,y\n" * 100)


def open_quote_csv(path):
    with open(path, "w") as file:
        file.write('age,text\n1,"')
        for i in range(150):
            file.write(("line of a quote that never ends\n" * 31_250))


def columns_csv(path):
    header = "age,text," + ",".join(f"c{c}" for c in range(5_000))
    lines(path, header, (f"{i % 9},t{i % 5}," + ",".join(str(i * c % 11) for c in range(5_000)) for i in range(400)))


def column_names_csv(path):
    header = "age,text," + ",".join(f"c{c}" + "n" * 20_000 for c in range(400))
    lines(path, header, (f"{i % 9},t{i % 5}," + ",".join("7" for _ in range(400)) for i in range(2_000)))


def floats_csv(path):
    lines(path, "age,text", (f"{i % 90},{i * 1.00000173 + 1e-7 * i:.9f}" for i in range(400_000)))


def far_csv(path):
    lines(path, "age,text", (f"{i % 90},{i * 9_000_000_000_007 % (1 << 62)}" for i in range(400_000)))


def times_csv(path):
    def stamp(i):
        return f"{1900 + i % 120}-{i % 12 + 1:02d}-{i % 28 + 1:02d}T{i % 24:02d}:{i % 60:02d}:{i * 7 % 60:02d}"
    lines(path, "age,text", (f"{i % 90},{stamp(i)}" for i in range(400_000)))


def sets_csv(path):
    def cell(i):
        return "{" + ", ".join(f"v{(i * 13 + j) % 5000}" for j in range(400)) + "}"
    lines(path, "age,text", (f'{i % 9},"{cell(i // 5)}"' for i in range(8_000)))


def utf16_csv(path):
    with open(path, "w", encoding="utf-16") as file:
        file.write("age,text\n")
        for i in range(200_000):
            file.write(f"{i % 90},é{name(i)}\n")


def late_types_csv(path):
    """Numbers, and a name behind all of them: reading starts over."""
    lines(path, "age,text", [*(f"{i % 90},{i}" for i in range(500_000)), "3,x"])


def names_gz(path):
    lines(path, "age,text", (f"{i % 90},{name(i)}" for i in range(300_000)), lambda p, m: gzip.open(p, m, 1))


def line_bomb_gz(path):
    with gzip.open(path, "wb", 6) as file:
        file.write(b"age,text\n1,")
        for _ in range(1_500):
            file.write(b"0" * 1_000_000)


def header_bomb_gz(path):
    with gzip.open(path, "wb", 6) as file:
        for _ in range(1_000):
            file.write(b"a" * 1_000_000)


def blank_bomb_gz(path):
    with gzip.open(path, "wb", 6) as file:
        file.write(b"age,text\n")
        for _ in range(600):
            file.write(b"\n" * 1_000_000)
        file.write(b"1,a\n" * 50)


def zstd_frame(path, window_log, blocks):
    """A frame of blocks (byte, length), each a run: no library is needed to write them."""
    with open(path, "wb") as file:
        file.write(struct.pack("<IBB", 0xFD2FB528, 0, (window_log - 10) << 3))
        for at, (content, length) in enumerate(blocks):
            is_last = at + 1 == len(blocks)
            is_run = isinstance(content, int)
            head = length << 3 | (1 if is_run else 0) << 1 | is_last
            file.write(struct.pack("<I", head)[:3])
            file.write(bytes([content]) if is_run else content)


def line_bomb_zst(path):
    start = b"age,text\n1,"
    zstd_frame(path, 20, [(start, len(start))] + [(ord("0"), 1 << 17)] * 12_000)


def window_bomb_zst(path):
    start = b"age,text\n" + b"1,a\n" * 20
    zstd_frame(path, 31, [(start, len(start))] + [(ord("\n"), 1 << 17)] * 4_000 + [(b"1,a\n", 4)])


def names_jsonl(path):
    with open(path, "w") as file:
        for i in range(300_000):
            file.write(f'{{"age": {i % 90}, "text": "{name(i)}"}}\n')


def long_line_jsonl(path):
    with open(path, "w") as file:
        file.write('{"age": 1, "text": "a"}\n' * 100 + '{"age": 1, "text": "')
        for _ in range(150):
            file.write("x" * 1_000_000)
        file.write('"}\n')


def keys_jsonl(path):
    with open(path, "w") as file:
        for i in range(40_000):
            file.write(f'{{"age": {i % 90}, "text": "t", "key{i}": {i}}}\n')


def deep_jsonl(path):
    with open(path, "w") as file:
        file.write('{"age": 1, "text": ' + "[" * 3_000_000 + "]" * 3_000_000 + "}\n")


def xlsx(path, sheet, strings):
    kinds = "application/vnd.openxmlformats-officedocument.spreadsheetml."
    types = (
        '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{kinds}sheet.main+xml"/>'
        f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{kinds}worksheet+xml"/>'
        f'<Override PartName="/xl/sharedStrings.xml" ContentType="{kinds}sharedStrings+xml"/></Types>'
    )
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    docs = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    pack = "http://schemas.openxmlformats.org/package/2006/relationships"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("[Content_Types].xml", types)
        file.writestr("_rels/.rels", f'<Relationships xmlns="{pack}"><Relationship Id="r" Type="{docs}/officeDocument" '
                                     'Target="xl/workbook.xml"/></Relationships>')
        file.writestr("xl/workbook.xml", f'<workbook xmlns="{main}" xmlns:r="{docs}"><sheets>'
                                         '<sheet name="s" sheetId="1" r:id="r1"/></sheets></workbook>')
        file.writestr("xl/_rels/workbook.xml.rels",
                      f'<Relationships xmlns="{pack}"><Relationship Id="r1" Type="{docs}/worksheet" '
                      f'Target="worksheets/sheet1.xml"/><Relationship Id="r2" Type="{docs}/sharedStrings" '
                      'Target="sharedStrings.xml"/></Relationships>')
        for part, tag, pieces in [("worksheets/sheet1", "worksheet", sheet), ("sharedStrings", "sst", strings)]:
            with file.open(f"xl/{part}.xml", "w", force_zip64=True) as out:
                out.write(f'<{tag} xmlns="{main}">'.encode())
                for piece in pieces:
                    out.write(piece.encode())
                out.write(f"</{tag}>".encode())


def cells(rows):
    yield "<sheetData>"
    for at, row in enumerate(rows, 1):
        yield f'<row r="{at}">'
        for column, (kind, value) in zip("AB", row):
            yield f'<c r="{column}{at}"{kind}><v>{value}</v></c>'
        yield "</row>"
    yield "</sheetData>"


SHARED = ' t="s"'


def strings_xlsx(path):
    rows = [[(SHARED, 0), (SHARED, 1)], *([("", i % 90), (SHARED, i + 2)] for i in range(200_000))]
    texts = ["age", "text", *(name(i) for i in range(200_000))]
    xlsx(path, cells(rows), (f"<si><t>{text}</t></si>" for text in texts))


def bomb_xlsx(path):
    rows = [[(SHARED, 0), (SHARED, 1)], *([("", i % 90), (SHARED, 2)] for i in range(100))]
    texts = ["age", "text"]
    pieces = [*(f"<si><t>{text}</t></si>" for text in texts), "<si><t>"]

    def strings():
        yield from pieces
        for _ in range(700):
            yield "0" * 1_000_000
        yield "</t></si>"
    xlsx(path, cells(rows), strings())


def rows_xlsx(path):
    rows = [[(SHARED, 0), (SHARED, 1)], *([("", i % 90), ("", i)] for i in range(300_000))]
    xlsx(path, cells(rows), (f"<si><t>{text}</t></si>" for text in ["age", "text"]))


def repeated_ods(path):
    """A cell that says that it is there a billion times."""
    names = ' '.join(f'xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{short}:1.0"' for short in ["office", "table", "text"])
    cell = '<table:table-cell office:value-type="string"{}><text:p>{}</text:p></table:table-cell>'
    row = "<table:table-row{}>{}</table:table-row>"
    body = row.format("", cell.format("", "age") + cell.format("", "text"))
    many = ' table:number-rows-repeated="1000000"'
    body += row.format(many, cell.format("", "7") + cell.format(' table:number-columns-repeated="1000"', "x" * 1_000))
    content = (f'<office:document-content {names}><office:body><office:spreadsheet><table:table table:name="s">{body}'
               '</table:table></office:spreadsheet></office:body></office:document-content>')
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        file.writestr("content.xml", content)


def many_files(path):
    os.mkdir(path)
    for part in range(600):
        lines(f"{path}/part-{part:04}.csv", "age,text", (f"{i % 90},{name(part * 100 + i)}" for i in range(100)))


def leaves_csv(path):
    """Codes, and their hierarchy beside them."""
    lines(path, "age,text", (f"{i % 90},v{i % 500_000:06d}" for i in range(600_000)))
    with open(path + ".levels", "w") as file:
        for i in range(500_000):
            file.write(f"v{i:06d},v{i // 100},v{i // 10_000},*\n")


def long_keys_gz(path):
    """Objects, each with another key of 1 MB."""
    with gzip.open(path, "wt", 6) as file:
        for i in range(400):
            file.write(f'{{"age": {i % 9}, "text": "a", "k{i}{"a" * 1_000_000}": 1}}\n')


def beside_csv(path):
    """A small table with files beside it that are none of those that are looked for."""
    lines(path, "age,text", (f"{i % 9},t{i % 5}" for i in range(1_000)))
    for ending in ["manifest.json", "conditions"]:
        with open(f"{path}.{ending}", "w") as file:
            file.truncate(600_000_000)
    with gzip.open(path + ".levels.gz", "wb", 6) as file:
        for _ in range(1_500):
            file.write(b"a" * 1_000_000)


def job_toml(path):
    lines(path, "age,text", (f"{i % 9},t{i % 5}" for i in range(1_000)))
    with open(path + ".toml", "w") as file:
        file.write('k = 5\nmissing = [\n')
        for i in range(400_000):
            file.write(f'  "text-that-stands-for-nothing-{i}",\n')
        file.write(']\n[columns]\nage = "quasi"\ntext = "keep"\n')


TABLES = {
    "long.parquet": long_parquet,
    "longer.parquet": longer_parquet,
    "names.parquet": names_parquet,
    "one-group.parquet": one_group_parquet,
    "mixed.parquet": mixed_parquet,
    "huge-cells.parquet": huge_cells_parquet,
    "zeros.parquet": zeros_parquet,
    "delta.parquet": delta_parquet,
    "uneven.parquet": uneven_parquet,
    "footer.parquet": footer_parquet,
    "wide.parquet": wide_parquet,
    "many-groups.parquet": many_groups_parquet,
    "lists.parquet": lists_parquet,
    "lying-page.parquet": lying_parquet,
    "names.csv": names_csv,
    "million.csv": million_csv,
    "persons.csv": persons_csv,
    "short.csv": short_csv,
    "wide-text.csv": wide_text_csv,
    "long-cells.csv": long_cells_csv,
    "one-cell.csv": one_cell_csv,
    "open-quote.csv": open_quote_csv,
    "5000-columns.csv": columns_csv,
    "long-column-names.csv": column_names_csv,
    "floats.csv": floats_csv,
    "far-apart.csv": far_csv,
    "times.csv": times_csv,
    "sets.csv": sets_csv,
    "utf-16.csv": utf16_csv,
    "late-types.csv": late_types_csv,
    "names.csv.gz": names_gz,
    "line-bomb.csv.gz": line_bomb_gz,
    "header-bomb.csv.gz": header_bomb_gz,
    "blank-bomb.csv.gz": blank_bomb_gz,
    "line-bomb.csv.zst": line_bomb_zst,
    "window-bomb.csv.zst": window_bomb_zst,
    "names.jsonl": names_jsonl,
    "long-line.jsonl": long_line_jsonl,
    "keys.jsonl": keys_jsonl,
    "deep.jsonl": deep_jsonl,
    "strings.xlsx": strings_xlsx,
    "bomb.xlsx": bomb_xlsx,
    "rows.xlsx": rows_xlsx,
    "repeated.ods": repeated_ods,
    "600-files": many_files,
    "leaves.csv": leaves_csv,
    "long-keys.jsonl.gz": long_keys_gz,
    "beside.csv": beside_csv,
    "huge-job.csv": job_toml,
}
