/**
 * Tables filled from the lines of a text file: InitializeTableFromTextFile and its second version. They access files,
 * so this entry alone registers them. Follows TensorFlow `lookup_util.cc`.
 */
import { decodeString } from "../../engine/core/text.ts";
import type { DType } from "../../engine/core/dtype.ts";
import { InvalidArgumentError } from "../../engine/core/errors.ts";
import type { HostCall, HostResults } from "../../engine/core/contract/host_op.ts";
import type { NdArray } from "../../engine/core/nd_array.ts";
import { defineOp } from "../../engine/core/op.ts";
import { readSource } from "../../library/io/source.ts";
import { columnOf, linesOf } from "../../library/io/table_file.ts";
import { fileOfOp, WITHIN } from "../../library/io/within.ts";
import { tableOf } from "../../engine/ops/host/lookup.ts";

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
