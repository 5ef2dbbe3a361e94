/**
 * Tables filled from the lines of a text file: InitializeTableFromTextFile and its second version. They access files,
 * so this entry alone registers them. Follows TensorFlow `lookup_util.cc`.
 */
import { decodeString } from "../../engine/core/text.ts";
import { type DType, DTYPES } from "../../engine/core/dtype.ts";
import { InvalidArgumentError } from "../../engine/core/errors.ts";
import type { HostCall, HostResults } from "../../engine/core/contract/host_op.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import { defineOp } from "../../engine/core/op.ts";
import { readSource } from "../../library/io/source.ts";
import { fileOfOp, WITHIN } from "../../library/io/within.ts";
import { tableOf } from "../../engine/ops/host/lookup.ts";

/** Special columns: the number of the line, and the whole line. */
const LINE_NUMBER = -1, WHOLE_LINE = -2;

for (const name of ["InitializeTableFromTextFile", "InitializeTableFromTextFileV2"]) {
  defineOp({
    name,
    inputs: ["table_handle: resource", "filename: string"],
    outputs: [],
    attrs: [
      "key_index: int",
      "value_index: int",
      "vocab_size: int = -1",
      'delimiter: string = "\\t"',
      "offset: int = 0",
      WITHIN,
    ],
    hostInputs: ["filename"],
    infer: () => [],
    grad: null,
    effects: "ordered",
    stateful: true,
    host: { run: fillFromFile },
    outside: "files",
  });
}

async function fillFromFile({ inputs: [handle, filename], attrs }: HostCall): Promise<HostResults> {
  const table = tableOf(handle);
  const name = decodeString(((filename as NdArray).data as Uint8Array[])[0]);
  const path = fileOfOp(name, attrs._within);
  const lines = linesOf((await readSource(path)).bytes).slice(Number(attrs.offset));
  const size = Number(attrs.vocab_size);
  if (size > lines.length) {
    throw new InvalidArgumentError(
      `Cannot fill table "${table.name}": ${path} has ${lines.length} lines, wanted ${size}`,
    );
  }
  const used = size < 0 ? lines : lines.slice(0, size), delimiter = String(attrs.delimiter);
  const column = (index: unknown, dtype: DType): NdArray =>
    columnOf(used, { index: Number(index), delimiter, dtype, path });
  const [key, value] = table.dtypes;
  table.fill(column(attrs.key_index, key), column(attrs.value_index, value));
  return [];
}

/** Splits bytes into lines; a line feed at the end begins no further one. */
function linesOf(bytes: Uint8Array): Uint8Array[] {
  const out: Uint8Array[] = [];
  for (let from = 0; from < bytes.length;) {
    const end = bytes.indexOf(10, from), to = end < 0 ? bytes.length : end;
    out.push(bytes.subarray(from, bytes[to - 1] === 13 && to > from ? to - 1 : to));
    from = to + 1;
  }
  return out;
}

interface Column {
  readonly index: number;
  readonly delimiter: string;
  readonly dtype: DType;
  readonly path: string;
}

function columnOf(
  lines: readonly Uint8Array[],
  { index, delimiter, dtype, path }: Column,
): NdArray {
  const cells = lines.map((line, i): Uint8Array | number => {
    if (index === LINE_NUMBER) return i;
    if (index === WHOLE_LINE) return line;
    const cell = split(line, delimiter.charCodeAt(0))[index];
    if (cell !== undefined) return cell;
    throw new InvalidArgumentError(`Invalid number of columns in ${path} line ${i}: no ${index}`);
  });
  if (dtype === "string") {
    const texts = cells.map((c) => typeof c === "number" ? new TextEncoder().encode(`${c}`) : c);
    return new NdArray("string", [texts.length], texts);
  }
  const out = NdArray.zeros(dtype, [cells.length]), data = out.data as { [i: number]: unknown };
  cells.forEach((cell, i) => {
    const text = typeof cell === "number" ? String(cell) : decodeString(cell).trim();
    const number = text === "" ? NaN : Number(text);
    const isWhole = DTYPES[dtype].kind !== "int" || Number.isSafeInteger(number);
    if (Number.isNaN(number) || !isWhole) {
      throw new InvalidArgumentError(
        `Field ${text} in line ${i} of ${path} is not a valid ${dtype}`,
      );
    }
    data[i] = data instanceof BigInt64Array ? BigInt(text) : number;
  });
  return out;
}

function split(line: Uint8Array, delimiter: number): Uint8Array[] {
  const out: Uint8Array[] = [];
  for (let from = 0;;) {
    const at = line.indexOf(delimiter, from);
    out.push(line.subarray(from, at < 0 ? line.length : at));
    if (at < 0) return out;
    from = at + 1;
  }
}
